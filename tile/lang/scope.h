// SPDX-License-Identifier: Apache-2.0
// The names of a function and their values during binding; private to the binder.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tile/ir/program_builder.h"
#include "tile/lang/ast.h"
#include "tile/lang/compile_time.h"
#include "tile/lang/diagnostics.h"

namespace tartan::lang {

// A value that is missing because of a reported error.
struct Failed {};

// A tensor, a compile-time number, or a tuple of these.
struct Bound {
  std::variant<ir::ValueId, CompileTimeScalar, std::vector<Bound>, Failed> value;

  const CompileTimeScalar* scalar() const { return std::get_if<CompileTimeScalar>(&value); }
  const ir::ValueId* tensor() const { return std::get_if<ir::ValueId>(&value); }
  const std::vector<Bound>* tuple() const { return std::get_if<std::vector<Bound>>(&value); }
  bool failed() const { return std::holds_alternative<Failed>(value); }
};

// A call whose arguments are bound.
struct BoundCall {
  absl::string_view function;
  Position position;
  absl::Span<const Bound> arguments;
  absl::Span<const Position> argument_positions;
  std::string name;  // of the resulting value
};

struct Definition {
  Bound bound;
  Position position;
};

// Binds the function of the text with this name, a rule of custom_gradient. NotFound, without a
// position in the message, if there is none; other errors have positions.
using RuleBinder = std::function<absl::StatusOr<ir::Program>(const std::string& name,
                                                             absl::Span<const TensorShape> shapes)>;

// Binds a function of another text.
using FunctionProgram = std::function<absl::StatusOr<ir::Program>(
    const Function& function, absl::Span<const TensorShape> shapes)>;

// Collects errors, so that binding can continue after them. A function that fails returns
// Cancelled; the reason is in errors().
class Scope {
 public:
  Scope(SourceText source, RuleBinder rules, FunctionProgram functions, bool refuses_infeasible)
      : source_(source),
        rules_(std::move(rules)),
        functions_(std::move(functions)),
        refuses_infeasible_(refuses_infeasible) {}

  ir::ProgramBuilder& builder() { return builder_; }

  // Reports an error, and returns Cancelled.
  absl::Status Error(Position position, absl::string_view message);
  // The same for an error of the builder, at a position of the text.
  absl::Status At(Position position, const absl::Status& status);
  // The same for an error whose message contains its position.
  absl::Status Report(absl::Status status);
  // All messages, in the order of the reports, with the code of the first; OK if there is none.
  absl::Status errors() const;
  // Returns whether there are too many errors to continue.
  bool gives_up() const { return errors_.size() >= kMaxErrors; }

  // Defines a name; an error if it is taken. A tensor may have the name of a size. A scalar integer
  // may only if it is known to equal the size, because where a size is written both could be meant.
  absl::Status Define(const std::string& name, Definition definition);
  absl::Status DefineSize(const std::string& name, Definition definition);
  // If a tensor and a size have the same name, Find returns the tensor and FindSize the size.
  const Definition* Find(absl::string_view name) const;
  const Definition* FindSize(absl::string_view name) const;
  // Reports an unknown name with a suggestion. Also fails for a name whose statement failed.
  absl::StatusOr<const Definition*> Resolve(absl::string_view name, Position position,
                                            bool is_size = false);

  // The tensor; a number becomes a scalar tensor, a tuple is an error.
  absl::StatusOr<ir::ValueId> Tensor(const Bound& bound, Position position);

  // The number or scalar constant bound to a name; nullopt for other tensors.
  std::optional<CompileTimeScalar> Number(const Bound& bound) const;

  const RuleBinder& rules() const { return rules_; }
  const FunctionProgram& functions() const { return functions_; }
  // Returns whether an infeasible constraint is an error (CheckConstraints).
  bool refuses_infeasible() const { return refuses_infeasible_; }

  // A name for an intermediate value, "O_1", "O_2" …; never one that the text uses.
  void Reserve(absl::string_view name) { reserved_.emplace(name); }
  std::string IntermediateName(absl::string_view target);

  // Finishes the program; the scope cannot be used any more.
  absl::StatusOr<ir::Program> Build() && { return std::move(builder_).Build(); }

 private:
  static constexpr size_t kMaxErrors = 10;

  absl::Status CheckAgainstSize(const std::string& name, const Definition& definition,
                                const Definition& size, Position position);

  SourceText source_;
  RuleBinder rules_;
  FunctionProgram functions_;
  bool refuses_infeasible_;
  std::vector<absl::Status> errors_;
  ir::ProgramBuilder builder_;
  absl::flat_hash_map<std::string, Definition> definitions_;
  absl::flat_hash_map<std::string, Definition> sizes_;  // size symbols of inputs
  absl::flat_hash_set<std::string> reserved_;
  absl::flat_hash_map<std::string, int> counters_;
};

}  // namespace tartan::lang
