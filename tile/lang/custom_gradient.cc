// SPDX-License-Identifier: Apache-2.0
#include "tile/lang/custom_gradient.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"

namespace tartan::lang {

absl::StatusOr<Bound> BindCustomGradient(const Call& call, const BoundCall& bound, Scope& scope) {
  const Name* rule =
      call.arguments.size() < 2 ? nullptr : std::get_if<Name>(&call.arguments[1]->node);
  if (rule == nullptr || IsTensorName(rule->name)) {
    return scope.Error(bound.position,
                       "custom_gradient is called as custom_gradient(Y, rule, X, ...), and the "
                       "text continues with function rule (X, ..., Y, DY) -> (DX, ...) { ... }");
  }
  std::vector<ir::ValueId> values;
  for (size_t i = 0; i < bound.arguments.size(); ++i) {
    if (i == 1) continue;
    TARTAN_ASSIGN_OR_RETURN(const ir::ValueId value,
                            scope.Tensor(bound.arguments[i], bound.argument_positions[i]));
    values.push_back(value);
  }
  const absl::Span<const ir::ValueId> inputs = absl::MakeConstSpan(values).subspan(1);
  std::vector<TensorShape> shapes;
  for (const ir::ValueId input : inputs) shapes.push_back(scope.builder().shape(input));
  shapes.insert(shapes.end(), 2, scope.builder().shape(values[0]));
  absl::StatusOr<ir::Program> program = scope.rules()(rule->name, shapes);
  if (absl::IsNotFound(program.status())) {
    return scope.Error(bound.argument_positions[1], program.status().message());
  }
  if (!program.ok()) return scope.Report(program.status());
  absl::StatusOr<ir::ValueId> result =
      scope.builder().AddCustomGradient(values[0], inputs, *std::move(program), bound.name);
  if (!result.ok()) return scope.At(bound.position, result.status());
  return Bound{*result};
}

}  // namespace tartan::lang
