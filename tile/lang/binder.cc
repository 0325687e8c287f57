// SPDX-License-Identifier: Apache-2.0
#include "tile/lang/binder.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tile/base/match.h"
#include "tile/base/status_macros.h"
#include "tile/lang/attributes.h"
#include "tile/lang/contraction_binder.h"
#include "tile/lang/expression_binder.h"
#include "tile/lang/scope.h"

namespace tartan::lang {
namespace {

bool HasConstraints(const Function& function) {
  const auto has_some = [](const Statement& statement) {
    const auto* contraction = std::get_if<Contraction>(&statement.node);
    return contraction != nullptr && !contraction->constraints.empty();
  };
  return std::any_of(function.statements.begin(), function.statements.end(), has_some) ||
         std::any_of(function.rules.begin(), function.rules.end(), HasConstraints);
}

Position DimPosition(const Parameter& input, size_t i) {
  return i < input.dim_positions.size() ? input.dim_positions[i] : input.position;
}

class FunctionBinder {
 public:
  FunctionBinder(const Function& function, const BindOptions& options, const RuleBinder& rules,
                 bool refuses_infeasible)
      : function_(function),
        options_(options),
        scope_(
            SourceText{options.file, options.text}, rules,
            [](const Function& other, absl::Span<const TensorShape> shapes) {
              return lang::Bind(other, shapes);
            },
            refuses_infeasible) {}

  absl::StatusOr<ir::Program> Bind(absl::Span<const TensorShape> shapes) &&;

 private:
  // The input dimension that defined a size.
  struct SizeOrigin {
    const Parameter* input;
    size_t dim;
    int64_t size;
  };

  void Complain(Position position, absl::string_view message) {
    scope_.Error(position, message).IgnoreError();
  }

  // Each of these reports its errors to the scope.
  void CheckCounts(size_t shapes);
  void BindInput(size_t i, const TensorShape& shape);
  void BindSizes(const Parameter& input, const TensorShape& shape);
  void BindSymbol(const Parameter& input, size_t dim, int64_t size);
  // Defines sizes that have no value because of an erroneous input.
  void DefineMissingSizes();
  void BindStatement(const Statement& statement);
  absl::StatusOr<Bound> BindBody(const Statement& statement, const std::string& label);
  void BindOutput(size_t i);

  const Function& function_;
  const BindOptions& options_;
  Scope scope_;
  absl::flat_hash_map<std::string, SizeOrigin> sizes_;
};

absl::StatusOr<ir::Program> FunctionBinder::Bind(absl::Span<const TensorShape> shapes) && {
  CheckCounts(shapes.size());
  TARTAN_RETURN_IF_ERROR(scope_.errors());
  for (const Parameter& input : function_.inputs) scope_.Reserve(PlainName(input.name));
  for (const Statement& statement : function_.statements) {
    Match(
        statement.node, [&](const Assignment& x) { scope_.Reserve(PlainName(x.target)); },
        [&](const Contraction& x) { scope_.Reserve(PlainName(x.output.tensor)); });
  }
  for (size_t i = 0; i < shapes.size(); ++i) BindInput(i, shapes[i]);
  if (!scope_.errors().ok()) DefineMissingSizes();
  for (const Statement& statement : function_.statements) {
    if (scope_.gives_up()) break;
    BindStatement(statement);
  }
  for (size_t i = 0; i < function_.outputs.size() && !scope_.gives_up(); ++i) BindOutput(i);
  TARTAN_RETURN_IF_ERROR(scope_.errors());
  return std::move(scope_).Build();
}

void FunctionBinder::CheckCounts(size_t shapes) {
  if (shapes != function_.inputs.size()) {
    if (!function_.name.empty()) {
      Complain(function_.position,
               absl::StrCat("the rule '", function_.name, "' has ", function_.inputs.size(),
                            " inputs but must have ", shapes,
                            ": the tensors of custom_gradient, the result and its gradient"));
    } else {
      Complain({}, absl::StrCat("the function takes ", function_.inputs.size(),
                                " inputs, but shapes are given for ", shapes));
    }
  }
  if (!options_.inputs.empty() && options_.inputs.size() != shapes) {
    Complain({}, absl::StrCat("flags are given for ", options_.inputs.size(), " of ", shapes,
                              " inputs"));
  }
  if (function_.outputs.empty()) {
    Complain(function_.inputs.empty() ? Position{} : function_.inputs[0].position,
             "the function has no output: name one after '->'");
  }
}

void FunctionBinder::BindInput(size_t i, const TensorShape& shape) {
  const Parameter& input = function_.inputs[i];
  const ir::Input flags = options_.inputs.empty() ? ir::Input{} : options_.inputs[i];
  absl::StatusOr<ir::ValueId> value =
      scope_.builder().AddInput(std::string(PlainName(input.name)), shape, flags);
  if (!value.ok()) scope_.At(input.position, value.status()).IgnoreError();
  const Bound bound = value.ok() ? Bound{*value} : Bound{Failed()};
  scope_.Define(input.name, {bound, input.position}).IgnoreError();
  if (input.has_dims) BindSizes(input, shape);
}

void FunctionBinder::BindSizes(const Parameter& input, const TensorShape& shape) {
  if (static_cast<int64_t>(input.dims.size()) != shape.rank()) {
    Complain(input.position, absl::StrCat("'", input.name, "' has ", input.dims.size(),
                                          input.dims.size() == 1 ? " dimension" : " dimensions",
                                          " here, but the given tensor is ", shape.ToString()));
    return;
  }
  for (size_t dim = 0; dim < input.dims.size(); ++dim) {
    int64_t wanted = 0;
    if (!absl::SimpleAtoi(input.dims[dim], &wanted)) {
      BindSymbol(input, dim, shape.dims[dim]);
    } else if (wanted != shape.dims[dim]) {
      Complain(DimPosition(input, dim),
               absl::StrCat("dimension ", dim, " of '", input.name, "' must be ", wanted,
                            ", but the given tensor is ", shape.ToString()));
    }
  }
}

void FunctionBinder::BindSymbol(const Parameter& input, size_t dim, int64_t size) {
  const std::string& symbol = input.dims[dim];
  const auto [it, inserted] = sizes_.emplace(symbol, SizeOrigin{&input, dim, size});
  if (inserted) {
    const Bound bound{CompileTimeScalar{size}};
    scope_.DefineSize(symbol, {bound, DimPosition(input, dim)}).IgnoreError();
    return;
  }
  const SizeOrigin& first = it->second;
  if (first.size == size) return;
  Complain(DimPosition(input, dim),
           absl::StrCat("the size '", symbol, "' is ", first.size, " in dimension ", first.dim,
                        " of '", first.input->name, "' but ", size, " in dimension ", dim, " of '",
                        input.name, "'"));
}

void FunctionBinder::DefineMissingSizes() {
  for (const Parameter& input : function_.inputs) {
    for (size_t dim = 0; dim < input.dims.size(); ++dim) {
      const std::string& symbol = input.dims[dim];
      if (!IsTensorName(symbol)) continue;
      scope_.DefineSize(symbol, {Bound{Failed()}, DimPosition(input, dim)}).IgnoreError();
    }
  }
}

void FunctionBinder::BindStatement(const Statement& statement) {
  const std::string& target = TargetOf(statement);
  const absl::StatusOr<std::string> label = BindAttributes(statement, scope_);
  absl::StatusOr<Bound> bound = BindBody(statement, label.value_or(target));
  // Uses of a failed statement's name fail without another message.
  Definition definition{bound.ok() ? *std::move(bound) : Bound{Failed()}, statement.position};
  scope_.Define(target, std::move(definition)).IgnoreError();
}

absl::StatusOr<Bound> FunctionBinder::BindBody(const Statement& statement,
                                               const std::string& label) {
  return Match(
      statement.node, [&](const Assignment& x) { return BindExpression(*x.value, label, scope_); },
      [&](const Contraction& x) -> absl::StatusOr<Bound> {
        TARTAN_ASSIGN_OR_RETURN(const ir::ValueId value,
                                BindContraction(x, statement.position, label, scope_));
        return Bound{value};
      });
}

void FunctionBinder::BindOutput(size_t i) {
  const std::string& name = function_.outputs[i];
  const Position position =
      i < function_.output_positions.size() ? function_.output_positions[i] : Position{};
  const Definition* definition = scope_.Find(name);
  if (definition == nullptr) {
    Complain(position, absl::StrCat("the output '", name, "' is never assigned"));
    return;
  }
  if (definition->bound.failed()) return;
  const absl::StatusOr<ir::ValueId> value = scope_.Tensor(definition->bound, position);
  if (value.ok()) scope_.builder().AddOutput(*value, std::string(PlainName(name)));
}

// Binds the rules of one text; a rule may use other rules, but not itself.
class TextRules {
 public:
  TextRules(const std::vector<Function>& rules, const BindOptions& options, bool refuses_infeasible)
      : options_(options), refuses_infeasible_(refuses_infeasible) {
    options_.inputs.clear();
    for (const Function& rule : rules) rules_.emplace(rule.name, &rule);
  }

  // Requires that *this outlives the result.
  RuleBinder Binder() {
    return [this](const std::string& name, absl::Span<const TensorShape> shapes) {
      return Bind(name, shapes);
    };
  }

 private:
  absl::StatusOr<ir::Program> Bind(const std::string& name, absl::Span<const TensorShape> shapes) {
    const auto rule = rules_.find(name);
    if (rule == rules_.end()) {
      return absl::NotFoundError(absl::StrCat("there is no function '", name,
                                              "' after this one: write function ", name, " (...)"));
    }
    if (!active_.insert(name).second) {
      return absl::NotFoundError(absl::StrCat("the rule '", name, "' uses itself"));
    }
    absl::StatusOr<ir::Program> program =
        FunctionBinder(*rule->second, options_, Binder(), refuses_infeasible_).Bind(shapes);
    active_.erase(name);
    if (program.ok()) program->name = name;
    return program;
  }

  BindOptions options_;
  bool refuses_infeasible_;
  absl::flat_hash_map<std::string, const Function*> rules_;
  absl::flat_hash_set<std::string> active_;  // rules that are being bound
};

absl::StatusOr<ir::Program> BindFunction(const Function& function,
                                         absl::Span<const TensorShape> shapes,
                                         const BindOptions& options, bool refuses_infeasible) {
  TextRules rules(function.rules, options, refuses_infeasible);
  return FunctionBinder(function, options, rules.Binder(), refuses_infeasible).Bind(shapes);
}

}  // namespace

absl::StatusOr<ir::Program> Bind(const Function& function, absl::Span<const TensorShape> shapes,
                                 const BindOptions& options) {
  return BindFunction(function, shapes, options, /*refuses_infeasible=*/false);
}

absl::Status CheckConstraints(const Function& function, absl::Span<const TensorShape> shapes,
                              const BindOptions& options) {
  if (!HasConstraints(function)) return absl::OkStatus();
  const auto bind = [&](bool refuses_infeasible) {
    return BindFunction(function, shapes, options, refuses_infeasible).status();
  };
  const absl::Status strict = bind(true);
  return strict.ok() || !bind(false).ok() ? absl::OkStatus() : strict;
}

}  // namespace tartan::lang
