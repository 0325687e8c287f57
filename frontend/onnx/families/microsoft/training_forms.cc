// SPDX-License-Identifier: Apache-2.0
// Nodes of training graphs that are ONNX's operators with other operands, and tests of gradients.
#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/families.h"
#include "frontend/onnx/families/microsoft/backward.h"
#include "frontend/onnx/tile_text/movement.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

using Outputs = absl::StatusOr<std::vector<api::Tensor>>;
using api::Tensor;

Outputs AsOnnx(NodeContext& context, absl::string_view name) {
  NodeContext newer = context.With(13, context.inputs());
  return ApplyOnnx(newer, name, 13);
}

Outputs ReduceSumTraining(NodeContext& context) { return AsOnnx(context, "ReduceSum"); }
Outputs SplitTraining(NodeContext& context) { return AsOnnx(context, "Split"); }

// Result 1: the size of each operand along the axis.
Outputs ConcatTraining(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(std::vector<Tensor> made, AsOnnx(context, "Concat"));
  TARTAN_ASSIGN_OR_RETURN(int64_t axis, context.Int("axis"));
  TARTAN_ASSIGN_OR_RETURN(axis, NormalAxis(axis, context.input(0).rank()));
  std::vector<int64_t> sizes;
  for (const Tensor& part : context.inputs()) {
    sizes.push_back(part.dims()[static_cast<size_t>(axis)]);
  }
  made.push_back(ConstantInts(sizes));
  return made;
}

// Operands: gradient, mask, ratio, whether in training.
Outputs DropoutGrad(NodeContext& context) {
  const Tensor& seed = context.input(0);
  if (context.input(1).dims() != seed.dims()) {
    return Invalid("the mask ", context.input(1).shape().ToString(), " for the gradient ",
                   seed.shape().ToString());
  }
  double ratio = 0.5;
  if (context.HasInput(2)) {
    TARTAN_ASSIGN_OR_RETURN(ratio, context.HostFloat(2));
  }
  if (!(ratio >= 0 && ratio < 1)) return Invalid("ratio ", ratio, " is not in [0, 1)");
  const std::string kept = absl::StrCat("M ? DY * ", Literal(1 / (1 - ratio)), " : 0");
  return context.Apply(
      TileFunction("DY, M", "DX", {absl::StrCat("DX = ", Cast(kept, seed.type()))}),
      {seed, context.input(1)});
}

// Whether `name` is a number the node looks for: any that is not finite, or infinities or NaN only.
absl::StatusOr<std::string> Wrong(const NodeContext& context, absl::string_view name) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t infinities, context.Int("isinf_only", 0));
  TARTAN_ASSIGN_OR_RETURN(const int64_t nans, context.Int("isnan_only", 0));
  if (infinities != 0 && nans != 0) {
    return Invalid("attributes 'isinf_only' and 'isnan_only' exclude each other");
  }
  const std::string infinite = absl::StrCat("abs(", name, ") == inf()");
  const std::string nan = absl::StrCat("isnan(", name, ")");
  if (infinities != 0) return infinite;
  return nans != 0 ? nan : absl::StrCat("(", infinite, " || ", nan, ")");
}

Outputs IsFinite(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const std::string wrong, Wrong(context, "X"));
  return context.Apply(TileFunction("X", "Y", {absl::StrCat("Y = (", wrong, " ? 0 : 1) == 1")}));
}

Outputs PassThrough(NodeContext& context) {
  return std::vector<Tensor>(context.inputs().begin(), context.inputs().end());
}

constexpr OperatorRow kOperators[] = {
    MicrosoftRow("ConcatTraining", {1, kAnyNumber}, ConcatTraining),
    MicrosoftRow("DropoutGrad", {2, 4}, DropoutGrad, HostOperands(2)),
    MicrosoftRow("IsFinite", {1, 1}, IsFinite),
    MicrosoftRow("PassThrough", {1, kAnyNumber}, PassThrough),
    MicrosoftRow("ReduceSumTraining", {2, 2}, ReduceSumTraining, HostOperands(1)),
    MicrosoftRow("SplitTraining", {2, 2}, SplitTraining, HostOperands(1)),
};

}  // namespace

absl::Span<const OperatorRow> TrainingFormOperators() { return kOperators; }

}  // namespace tartan::onnx
