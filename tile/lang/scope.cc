// SPDX-License-Identifier: Apache-2.0
#include "tile/lang/scope.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tile/base/status_macros.h"

namespace tartan::lang {

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
  if (inserted) return absl::OkStatus();
  const Definition& first = it->second;
  const std::string where =
      first.position.line == 0 ? "" : absl::StrCat(" in line ", first.position.line);
  return Error(position,
               absl::StrCat("'", name, "' is already ", first.is_size ? "a size" : "defined", where,
                            ": every name is given once; choose another"));
}

const Definition* Scope::Find(absl::string_view name) const {
  const auto it = definitions_.find(name);
  return it == definitions_.end() ? nullptr : &it->second;
}

absl::StatusOr<const Definition*> Scope::Resolve(absl::string_view name, Position position) {
  if (const Definition* definition = Find(name)) {
    if (definition->bound.failed()) return absl::CancelledError("reported");
    return definition;
  }
  std::vector<absl::string_view> names;
  for (const auto& entry : definitions_) names.push_back(entry.first);
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
    return Error(position, "a tuple is no tensor: take one of its parts with element(T, 0)");
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
