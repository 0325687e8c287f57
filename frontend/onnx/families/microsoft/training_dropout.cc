// SPDX-License-Identifier: Apache-2.0
// Dropout of training graphs: after a bias, and with masks of one bit per element. Element i is bit
// i % 32 of the mask's word i / 32, counted from the lowest bit.
#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/microsoft/families.h"
#include "frontend/onnx/families/microsoft/operators.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

constexpr int64_t kBits = 32;

int64_t WordCount(int64_t elements) { return (elements + kBits - 1) / kBits; }

absl::StatusOr<Tensor> Packed(const NodeContext& context, const Tensor& mask) {
  const int64_t count = mask.shape().element_count();
  return context.ApplyOne(
      TileFunction(
          "M", "W",
          {absl::StrCat("F = ", ReshapeCall("M", {count})), "B = as_uint(index(F, 0) % 32, 32)",
           "ONE = as_uint(1, 32)", "V = F ? ONE << B : ONE - ONE",
           absl::StrCat("W[w : ", WordCount(count), "] = +(V[32 * w + b]), b < 32")}),
      {mask});
}

// Statements that compute M, bool of `dims`, from the words W.
std::vector<std::string> UnpackStatements(const std::vector<int64_t>& dims, int64_t count) {
  return {absl::StrCat("E[32 * w + b : ", count, "] = +(W[w]), b < 32"),
          "B = as_uint(index(E, 0) % 32, 32)", "F = (E >> B) % 2 == 1",
          absl::StrCat("M = ", ReshapeCall("F", dims))};
}

// ONNX's Dropout of `x`, with operands `ratio` and `ratio` + 1 of the node. Results: the remaining
// elements, the mask.
Outputs DropoutOf(NodeContext& context, const Tensor& x, int ratio) {
  std::vector<Tensor> operands = {x};
  for (const int i : {ratio, ratio + 1}) operands.push_back(context.value(i).tensor());
  if (context.HasInput(ratio + 1)) {
    // The training flag decides the graph, so it must be known.
    TARTAN_RETURN_IF_ERROR(context.HostInt(ratio + 1).status());
  }
  NodeContext newer = context.With(13, operands);
  return ApplyOnnx(newer, "Dropout", 13);
}

Outputs WithBits(const NodeContext& context, std::vector<Tensor> outputs) {
  if (!context.WantsOutput(1)) return std::vector<Tensor>{outputs[0]};
  TARTAN_ASSIGN_OR_RETURN(outputs[1], Packed(context, outputs[1]));
  return outputs;
}

// Operands: data, bias, residual, ratio, training flag. Dropout applies to data + bias.
Outputs BiasDropout(NodeContext& context) {
  const DataType type = context.input(0).type();
  TARTAN_ASSIGN_OR_RETURN(
      const std::vector<Tensor> sum,
      context.Apply(TileFunction("X, B", "Y", {absl::StrCat("Y = ", Cast("X + B", type))}),
                    {context.input(0), context.input(1)}));
  TARTAN_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, DropoutOf(context, sum[0], 3));
  if (!context.HasInput(2)) return outputs;
  TARTAN_ASSIGN_OR_RETURN(
      const std::vector<Tensor> whole,
      context.Apply(TileFunction("X, R", "Y", {absl::StrCat("Y = ", Cast("X + R", type))}),
                    {outputs[0], context.input(2)}));
  outputs[0] = whole[0];
  return outputs;
}

Outputs BitmaskBiasDropout(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, BiasDropout(context));
  return WithBits(context, std::move(outputs));
}

Outputs BitmaskDropout(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, DropoutOf(context, context.input(0), 1));
  return WithBits(context, std::move(outputs));
}

// Operands: gradient, mask, ratio, training flag.
Outputs BitmaskDropoutGrad(NodeContext& context) {
  const Tensor& seed = context.input(0);
  const int64_t count = seed.shape().element_count();
  const TensorShape& words = context.input(1).shape();
  if (words.type != DataType::kUInt32 || words.element_count() != WordCount(count)) {
    return Invalid("the mask ", words.ToString(), " for the gradient ", seed.shape().ToString(),
                   ", expected ", WordCount(count), " words of uint32");
  }
  double ratio = 0.5;
  if (context.HasInput(2)) {
    TARTAN_ASSIGN_OR_RETURN(ratio, context.HostFloat(2));
  }
  if (!(ratio >= 0 && ratio < 1)) return Invalid("ratio ", ratio, " is not in [0, 1)");
  TARTAN_ASSIGN_OR_RETURN(const Tensor mask,
                          Reshape(context, context.input(1), {words.element_count()}));
  std::vector<std::string> statements = UnpackStatements(seed.dims(), count);
  statements.push_back(absl::StrCat(
      "DX = ", Cast(absl::StrCat("M ? DY * ", Literal(1 / (1 - ratio)), " : 0"), seed.type())));
  return context.Apply(TileFunction("DY, W", "DX", statements), {seed, mask});
}

constexpr OperatorRow kOperators[] = {
    MicrosoftRow("BiasDropout", {2, 5}, BiasDropout, HostOperands(4)),
    MicrosoftRow("BitmaskBiasDropout", {2, 5}, BitmaskBiasDropout, HostOperands(4)),
    MicrosoftRow("BitmaskDropout", {1, 3}, BitmaskDropout, HostOperands(2)),
    MicrosoftRow("BitmaskDropoutGrad", {2, 4}, BitmaskDropoutGrad, HostOperands(2)),
};

}  // namespace

absl::Span<const OperatorRow> TrainingDropoutOperators() { return kOperators; }

}  // namespace tartan::onnx
