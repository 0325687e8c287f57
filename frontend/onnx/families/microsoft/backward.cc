// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/families/microsoft/backward.h"

#include "absl/strings/str_cat.h"
#include "frontend/api/composer.h"
#include "frontend/api/gradient.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/import/operator_table.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {

Outputs Backward(const NodeContext& context, const Tensor& seed, absl::Span<const Tensor> at,
                 const Forward& forward) {
  // Placeholders prevent constant folding, and restrict the derivative to paths inside `forward`.
  std::vector<Tensor> placeholders;
  for (const Tensor& operand : at) {
    placeholders.push_back(
        Tensor::Placeholder(absl::StrCat("at", placeholders.size()), operand.shape()));
  }
  TARTAN_ASSIGN_OR_RETURN(const Tensor result, forward(placeholders));
  if (result.dims() != seed.dims()) {
    return Invalid("the gradient ", seed.shape().ToString(), " does not fit the result ",
                   result.shape().ToString());
  }
  const Tensor outer = Tensor::Placeholder("seed", seed.shape());
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> gradients,
                          api::Gradient({{result, outer}}, placeholders));
  placeholders.push_back(outer);
  TARTAN_ASSIGN_OR_RETURN(const api::ComposedProgram composed,
                          api::Compose(placeholders, gradients));
  std::vector<Tensor> operands = composed.inputs;
  for (size_t i = 0; i < at.size(); ++i) operands[i] = at[i];
  operands[at.size()] = seed;
  return context.Apply(composed.program.code(), operands);
}

absl::StatusOr<Tensor> ForwardOf(const NodeContext& context, absl::string_view domain,
                                 absl::string_view name, int opset,
                                 absl::Span<const Tensor> operands) {
  const OperatorRow* const row = FindOperator(domain, name, opset);
  if (row == nullptr || row->handler == nullptr) {
    return absl::InternalError(absl::StrCat("unknown operator ", name));
  }
  NodeContext forward = context.With(opset, operands);
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> made, row->handler(forward));
  return made.front();
}

}  // namespace tartan::onnx
