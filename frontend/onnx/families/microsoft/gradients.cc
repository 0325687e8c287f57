// SPDX-License-Identifier: Apache-2.0
// Gradients of activations, softmax and losses, as nodes of training graphs. Operand 0 is the
// gradient of the result.
#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/microsoft/backward.h"
#include "frontend/onnx/families/microsoft/families.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/tile_text/reduction_text.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "proto/onnx.pb.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// Applies `value`, in terms of the gradient DY and operand 1, V.
Outputs Gradient(NodeContext& context, const std::string& value) {
  if (context.input(0).dims() != context.input(1).dims()) {
    return Invalid("operands ", context.input(0).shape().ToString(), " and ",
                   context.input(1).shape().ToString(), " differ");
  }
  return context.Apply(
      TileFunction("DY, V", "DX", {absl::StrCat("DX = ", Cast(value, context.input(0).type()))}));
}

Outputs ReluGrad(NodeContext& context) { return Gradient(context, "(V > 0 ? DY : 0)"); }
Outputs SigmoidGrad(NodeContext& context) { return Gradient(context, "DY * V * (1 - V)"); }
Outputs TanhGrad(NodeContext& context) { return Gradient(context, "DY * (1 - V * V)"); }
Outputs LeakyReluGrad(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const float alpha, context.Float("alpha", 0.01f));
  return Gradient(context, absl::StrCat("(V > 0 ? DY : ", Literal(alpha), " * DY)"));
}
// V is the result.
Outputs EluGrad(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const float alpha, context.Float("alpha", 1.0f));
  return Gradient(context, absl::StrCat("(V > 0 ? DY : (V + ", Literal(alpha), ") * DY)"));
}

// The gradient of Microsoft's `name` by operand 1; the optional operand 2 is a bias.
Outputs GeluGradient(NodeContext& context, absl::string_view name) {
  return Backward(context, context.input(0), {context.input(1)},
                  [&](absl::Span<const Tensor> at) -> absl::StatusOr<Tensor> {
                    std::vector<Tensor> operands = {at[0]};
                    if (context.HasInput(2)) operands.push_back(context.input(2));
                    return ForwardOf(context, kMicrosoftDomain, name, 1, operands);
                  });
}

Outputs GeluGrad(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const std::string form,
                          context.OneOf("approximate", "none", {"none", "tanh"}));
  return GeluGradient(context, form == "tanh" ? "FastGelu" : "Gelu");
}
Outputs FastGeluGrad(NodeContext& context) { return GeluGradient(context, "FastGelu"); }
Outputs QuickGeluGrad(NodeContext& context) { return GeluGradient(context, "QuickGelu"); }

// Forms before operator set 13 reduce all axes from `axis` on, later ones a single axis.
Outputs SoftmaxGradient(NodeContext& context, bool is_one, bool is_log) {
  const Tensor& y = context.input(1);
  if (context.input(0).dims() != y.dims()) {
    return Invalid("operands ", context.input(0).shape().ToString(), " and ", y.shape().ToString(),
                   " differ");
  }
  TARTAN_ASSIGN_OR_RETURN(const int64_t axis, context.Axis("axis", is_one ? -1 : 1, y.rank()));
  const std::vector<int64_t> axes = is_one ? std::vector<int64_t>{axis} : AxesFrom(axis, y.rank());
  return context.Apply(TileFunction(
      "DY, Y", "DX",
      {is_log ? "P = DY * 1.0" : "P = DY * Y", ReduceStatement("S", '+', "P", y.dims(), axes),
       absl::StrCat("DX = ", Cast(is_log ? "DY - exp(Y) * S" : "Y * (DY - S)", y.type()))}));
}

Outputs SoftmaxGrad(NodeContext& context) { return SoftmaxGradient(context, false, false); }
Outputs SoftmaxGrad13(NodeContext& context) { return SoftmaxGradient(context, true, false); }
Outputs LogSoftmaxGrad(NodeContext& context) { return SoftmaxGradient(context, false, true); }
Outputs LogSoftmaxGrad13(NodeContext& context) { return SoftmaxGradient(context, true, true); }

// The gradient of the cross entropy by the scores, from the log probabilities `log_prob`. Log
// probabilities are scores with the same loss, and the derivative by both is equal. `rest`:
// classes, weights, ignored class.
Outputs CrossEntropyGradient(NodeContext& context, const Tensor& seed, const Tensor& log_prob,
                             absl::Span<const Tensor> rest) {
  return Backward(context, seed, {log_prob},
                  [&](absl::Span<const Tensor> at) -> absl::StatusOr<Tensor> {
                    std::vector<Tensor> operands = {at[0]};
                    operands.insert(operands.end(), rest.begin(), rest.end());
                    return ForwardOf(context, "", "SoftmaxCrossEntropyLoss", 13, operands);
                  });
}

// Operands: gradient of the loss, log probabilities, classes, weights, ignored class. Some tools
// omit the gradient, which is then 1, and pass the loss instead of the log probabilities. The
// scores of that loss are used then.
Outputs SoftmaxCrossEntropyLossGrad(NodeContext& context) {
  if (context.input_count() > 2) {
    return CrossEntropyGradient(context, context.input(0), context.input(1),
                                context.inputs().subspan(2));
  }
  Tensor scores = context.input(0);
  if (scores.rank() == 0) {
    const Value made_of = context.services().OperandOfMaker(context.node().input(0), 0);
    if (!made_of.is_tensor())
      return Invalid("operand 0 is a scalar, but not a loss that this graph computes");
    scores = made_of.tensor();
  }
  TARTAN_ASSIGN_OR_RETURN(const Tensor one, Fill(context, ConstantScalar(scores.type(), 1), {}));
  return CrossEntropyGradient(context, one, scores, {context.input(1)});
}

Outputs SoftmaxCrossEntropyLossInternal(NodeContext& context) {
  return ApplyOnnx(context, "SoftmaxCrossEntropyLoss", 13);
}

// Scores as rows, with the classes along the last dimension.
absl::StatusOr<Tensor> Rows(const NodeContext& context, const Tensor& x) {
  if (x.rank() < 1) return Invalid("the scores are a scalar; expected at least one dimension");
  const int64_t classes = x.dims().back();
  const int64_t rows = classes == 0 ? 0 : x.shape().element_count() / classes;
  return Reshape(context, x, {rows, classes});
}

absl::StatusOr<std::vector<Tensor>> FlatOperands(const NodeContext& context, int first) {
  TARTAN_ASSIGN_OR_RETURN(Tensor scores, Rows(context, context.input(first)));
  const Tensor& classes = context.input(first + 1);
  if (classes.shape().element_count() != scores.dims()[0]) {
    return Invalid("classes ", classes.shape().ToString(), " for scores ",
                   context.input(first).shape().ToString());
  }
  TARTAN_ASSIGN_OR_RETURN(Tensor flat, Reshape(context, classes, {scores.dims()[0]}));
  std::vector<Tensor> operands = {std::move(scores), std::move(flat)};
  if (!context.HasInput(first + 2)) return operands;
  return Unsupported("operand ", first + 2, ", weights");
}

// The older form, with the classes along the last dimension.
Outputs SparseSoftmaxCrossEntropy(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> operands, FlatOperands(context, 0));
  NodeContext forward = context.With(13, operands);
  TARTAN_ASSIGN_OR_RETURN(std::vector<Tensor> made,
                          ApplyOnnx(forward, "SoftmaxCrossEntropyLoss", 13));
  if (made.size() > 1) {
    TARTAN_ASSIGN_OR_RETURN(made[1], Reshape(context, made[1], context.input(0).dims()));
  }
  return made;
}

Outputs SparseSoftmaxCrossEntropyGrad(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> operands, FlatOperands(context, 1));
  TARTAN_ASSIGN_OR_RETURN(
      std::vector<Tensor> made,
      CrossEntropyGradient(context, context.input(0), operands[0], {operands[1]}));
  TARTAN_ASSIGN_OR_RETURN(made[0], Reshape(context, made[0], context.input(1).dims()));
  return made;
}

constexpr OperatorRow kRows[] = {
    MicrosoftRow("BiasFastGeluGrad_dX", {3, 3}, FastGeluGrad),
    MicrosoftRow("BiasGeluGrad_dX", {3, 3}, GeluGrad),
    MicrosoftRow("EluGrad", {2, 2}, EluGrad),
    MicrosoftRow("FastGeluGrad", {2, 2}, FastGeluGrad),
    MicrosoftRow("GeluGrad", {2, 2}, GeluGrad),
    MicrosoftRow("LeakyReluGrad", {2, 2}, LeakyReluGrad),
    MicrosoftRow("LogSoftmaxGrad", {2, 2}, LogSoftmaxGrad),
    MicrosoftRow("LogSoftmaxGrad_13", {2, 2}, LogSoftmaxGrad13),
    MicrosoftRow("QuickGeluGrad", {2, 2}, QuickGeluGrad),
    MicrosoftRow("ReluGrad", {2, 2}, ReluGrad),
    MicrosoftRow("SigmoidGrad", {2, 2}, SigmoidGrad),
    MicrosoftRow("SoftmaxCrossEntropyLossGrad", {2, 5}, SoftmaxCrossEntropyLossGrad,
                 HostOperands(4)),
    MicrosoftRow("SoftmaxCrossEntropyLossInternal", {2, 4}, SoftmaxCrossEntropyLossInternal,
                 HostOperands(3)),
    MicrosoftRow("SoftmaxCrossEntropyLossInternalGrad", {3, 5}, SoftmaxCrossEntropyLossGrad,
                 HostOperands(4)),
    MicrosoftRow("SoftmaxGrad", {2, 2}, SoftmaxGrad),
    MicrosoftRow("SoftmaxGrad_13", {2, 2}, SoftmaxGrad13),
    MicrosoftRow("SparseSoftmaxCrossEntropy", {2, 3}, SparseSoftmaxCrossEntropy),
    MicrosoftRow("SparseSoftmaxCrossEntropyGrad", {3, 4}, SparseSoftmaxCrossEntropyGrad),
    MicrosoftRow("TanhGrad", {2, 2}, TanhGrad),
};
constexpr auto kOperators = InBothDomains(kRows);

}  // namespace

absl::Span<const OperatorRow> GradientOperators() { return kOperators; }

}  // namespace tartan::onnx
