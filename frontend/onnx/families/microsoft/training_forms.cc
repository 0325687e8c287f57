// SPDX-License-Identifier: Apache-2.0
// Nodes of training graphs that are ONNX's operators with other operands, and tests of gradients.
#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/microsoft/backward.h"
#include "frontend/onnx/families/microsoft/families.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

Outputs AsOnnx(NodeContext& context, absl::string_view name) {
  NodeContext newer = context.With(13, context.inputs());
  return ApplyOnnx(newer, name, 13);
}

Outputs ReduceSumTraining(NodeContext& context) { return AsOnnx(context, "ReduceSum"); }
Outputs SplitTraining(NodeContext& context) { return AsOnnx(context, "Split"); }

// Result 1: the size of each operand along the axis.
Outputs ConcatTraining(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(std::vector<Tensor> made, AsOnnx(context, "Concat"));
  TARTAN_ASSIGN_OR_RETURN(const int64_t axis, context.Axis("axis", context.input(0).rank()));
  std::vector<int64_t> sizes;
  for (const Tensor& part : context.inputs()) {
    sizes.push_back(part.dims()[static_cast<size_t>(axis)]);
  }
  made.push_back(ConstantInts(sizes));
  return made;
}

// Operands: gradient, mask, ratio, training flag.
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

// A condition on `name`: not finite, or infinite only, or NaN only, depending on the attributes.
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

// BatchNormalization of opset 14 in training mode. It also returns the batch's mean and 1 /
// sqrt(variance + epsilon) for its gradient.
Outputs BatchNormInternal(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t training, context.Int("training_mode", 1));
  if (training == 0) return Unsupported("BatchNormInternal with training_mode 0");
  const Tensor& x = context.input(0);
  if (x.rank() < 2) return Invalid("operand 0 is ", x.shape().ToString());
  TARTAN_ASSIGN_OR_RETURN(const float epsilon, context.Float("epsilon", 1e-5f));
  TARTAN_ASSIGN_OR_RETURN(const float momentum, context.Float("momentum", 0.9f));
  const int64_t channels = x.dims()[1];
  for (int i = 1; i < 5; ++i) TARTAN_RETURN_IF_ERROR(context.CheckDims(i, {channels}));
  std::vector<std::string> at = IndexNames(x.rank());
  std::vector<int64_t> wide(static_cast<size_t>(x.rank()) - 1, 1);
  wide[0] = channels;
  const double count = static_cast<double>(x.shape().element_count() / channels);
  const auto sum = [&](absl::string_view of) {
    return absl::StrCat("[", at[1], " : ", channels, "] = +(", Read(of, at), ")");
  };
  const auto spread = [&](absl::string_view name) { return ReshapeCall(name, wide); };
  const auto running = [&](int operand, const char* old, const char* now) {
    return Cast(
        absl::StrCat(old, " * ", Literal(momentum), " + ", now, " * ", Literal(1.0 - momentum)),
        context.input(operand).type());
  };
  return context.Apply(
      TileFunction(
          "X, A, B, M, V", "Y, NM, NV, MEAN, INV",
          {absl::StrCat("XF = ", Cast("X", ComputeType(x.type()))), absl::StrCat("S", sum("XF")),
           absl::StrCat("MEAN = S / ", Literal(count)), absl::StrCat("D = XF - ", spread("MEAN")),
           "Q = D * D", absl::StrCat("T", sum("Q")), absl::StrCat("VAR = T / ", Literal(count)),
           absl::StrCat("INV = 1 / sqrt(VAR + ", Literal(epsilon), ")"),
           absl::StrCat("Z = D * ", spread("INV"), " * ", spread("A"), " + ", spread("B")),
           absl::StrCat("Y = ", Cast("Z", x.type())),
           absl::StrCat("NM = ", running(3, "M", "MEAN")),
           absl::StrCat("NV = ", running(4, "V", "VAR"))}),
      {x, context.input(1), context.input(2), context.input(3), context.input(4)});
}

constexpr OperatorRow kOperators[] = {
    MicrosoftRow("BatchNormInternal", {5, 5}, BatchNormInternal),
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
