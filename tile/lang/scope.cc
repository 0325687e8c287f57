// SPDX-License-Identifier: Apache-2.0
#include "tile/lang/scope.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tile/base/status_macros.h"

namespace tartan::lang {
namespace {

// " in line 3", if there is a text.
std::string InLine(const Definition& definition) {
  return definition.position.line == 0 ? "" : absl::StrCat(" in line ", definition.position.line);
}

}  // namespace

absl::Status Scope::Error(Position position, absl::string_view message) {
  return Report(ErrorAt(source_, position, message));
}

absl::Status Scope::At(Position position, const absl::Status& status) {
  return Report(absl::Status(status.code(), FormatDiagnostic(source_, position, status.message())));
}

absl::Status Scope::Report(absl::Status status) {
  if (!gives_up()) errors_.push_back(std::move(status));
  return absl::CancelledError("reported");
}

absl::Status Scope::errors() const {
  if (errors_.empty()) return absl::OkStatus();
  const auto message = [](std::string* out, const absl::Status& status) {
    absl::StrAppend(out, status.message());
  };
  return absl::Status(errors_[0].code(), absl::StrJoin(errors_, "\n", message));
}

absl::Status Scope::Define(const std::string& name, Definition definition) {
  const Position position = definition.position;
  const auto [it, inserted] = definitions_.emplace(name, std::move(definition));
  if (!inserted) {
    return Error(position, absl::StrCat("'", name, "' is already defined", InLine(it->second),
                                        ": every name is defined once; choose another"));
  }
  const auto size = sizes_.find(name);
  if (size == sizes_.end()) return absl::OkStatus();
  return CheckAgainstSize(name, it->second, size->second, position);
}

absl::Status Scope::DefineSize(const std::string& name, Definition definition) {
  const Position position = definition.position;
  const auto [it, inserted] = sizes_.emplace(name, std::move(definition));
  const auto other = definitions_.find(name);
  if (!inserted || other == definitions_.end()) return absl::OkStatus();
  return CheckAgainstSize(name, other->second, it->second, position);
}

absl::Status Scope::CheckAgainstSize(const std::string& name, const Definition& definition,
                                     const Definition& size, Position position) {
  const CompileTimeScalar* wanted = size.bound.scalar();
  if (wanted == nullptr || definition.bound.failed()) return absl::OkStatus();
  const std::optional<CompileTimeScalar> number = Number(definition.bound);
  if (number.has_value() && number->AsInteger() == wanted->AsInteger()) return absl::OkStatus();
  if (const ir::ValueId* tensor = definition.bound.tensor(); tensor != nullptr && !number) {
    const TensorShape shape = builder_.shape(*tensor);
    if (shape.rank() > 0 || !IsInteger(shape.type)) return absl::OkStatus();
  }
  return Error(position,
               absl::StrCat("'", name, "' is already a size", InLine(size),
                            ": a number of this name must be known at compile time and equal ",
                            wanted->ToString(), "; choose another name"));
}

const Definition* Scope::Find(absl::string_view name) const {
  const auto it = definitions_.find(name);
  if (it != definitions_.end()) return &it->second;
  const auto size = sizes_.find(name);
  return size == sizes_.end() ? nullptr : &size->second;
}

const Definition* Scope::FindSize(absl::string_view name) const {
  const auto it = sizes_.find(name);
  return it == sizes_.end() ? Find(name) : &it->second;
}

absl::StatusOr<const Definition*> Scope::Resolve(absl::string_view name, Position position,
                                                 bool is_size) {
  if (const Definition* definition = is_size ? FindSize(name) : Find(name)) {
    if (definition->bound.failed()) return absl::CancelledError("reported");
    return definition;
  }
  std::vector<absl::string_view> names;
  for (const auto& entry : definitions_) names.push_back(entry.first);
  for (const auto& entry : sizes_) names.push_back(entry.first);
  std::sort(names.begin(), names.end());
  const std::string nearest = NearestName(name, names);
  return Error(position,
               absl::StrCat("'", name, "' is not defined here",
                            nearest.empty() ? ": it must be an input, a size of an input or "
                                              "assigned in an earlier statement"
                                            : absl::StrCat(": did you mean '", nearest, "'?")));
}

absl::StatusOr<ir::ValueId> Scope::Tensor(const Bound& bound, Position position) {
  if (const ir::ValueId* tensor = bound.tensor()) return *tensor;
  const CompileTimeScalar* scalar = bound.scalar();
  if (scalar == nullptr) {
    return Error(position, "a tuple is not a tensor: take one of its parts with element(T, 0)");
  }
  if (scalar->is_bool) return builder_.AddConstant(DataType::kBool, scalar->AsDouble());
  const auto* integer = std::get_if<int64_t>(&scalar->value);
  if (integer != nullptr) return builder_.AddConstant(*integer);
  return builder_.AddConstant(std::get<double>(scalar->value));
}

std::optional<CompileTimeScalar> Scope::Number(const Bound& bound) const {
  if (const CompileTimeScalar* scalar = bound.scalar()) return *scalar;
  const ir::ValueId* tensor = bound.tensor();
  if (tensor == nullptr) return std::nullopt;
  const ir::Value& value = builder_.program().values[*tensor];
  const auto* constant = std::get_if<ir::Constant>(&value.op);
  if (constant == nullptr) return std::nullopt;
  return CompileTimeScalar{constant->value, value.shape.type == DataType::kBool};
}

std::string Scope::IntermediateName(absl::string_view target) {
  int& counter = counters_[target];
  std::string name;
  do {
    name = absl::StrCat(PlainName(target), "_", ++counter);
  } while (!reserved_.emplace(name).second);
  return name;
}

}  // namespace tartan::lang
