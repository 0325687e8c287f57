// SPDX-License-Identifier: Apache-2.0
// Microsoft's operators on quantized tensors. Matmuls are exact sums in int32. The others
// dequantize their operands and round once, at the end.
#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/microsoft/families.h"
#include "frontend/onnx/families/microsoft/operators.h"
#include "frontend/onnx/families/shared/matmul_text.h"
#include "frontend/onnx/families/shared/quantization_text.h"
#include "frontend/onnx/import/operator_table.h"
#include "frontend/onnx/tile_text/reduction_text.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// Operand `i` as float32; the next two operands are its scale and zero point.
std::string Real(FunctionText& text, int i) {
  const std::string x = Cast(text.Operand(i), DataType::kInt32);
  const std::string scale = ReshapeCall(text.Operand(i + 1), {});
  if (!text.context().HasInput(i + 2)) {
    return absl::StrCat(Cast(x, DataType::kFloat32), " * ", scale);
  }
  const std::string zero = Cast(ReshapeCall(text.Operand(i + 2), {}), DataType::kInt32);
  return absl::StrCat(Cast(absl::StrCat(x, " - ", zero), DataType::kFloat32), " * ", scale);
}

// Y: `value`, a float32, quantized to the type of operand 0. Operand `i` is the scale and the next
// one the zero point.
Outputs QuantizeResult(FunctionText& text, absl::string_view value, int i) {
  const std::string scale = ReshapeCall(text.Operand(i), {});
  const bool has_zero = text.context().HasInput(i + 1);
  const std::string zero = has_zero ? ReshapeCall(text.Operand(i + 1), {}) : "";
  text.Add("Y", Quantized(absl::StrCat("(", value, ") / ", scale), zero,
                          text.context().input(0).type()));
  return text.Apply("Y");
}

// Checks that scales have one element and operand 0 has integers.
absl::Status CheckOperands(const NodeContext& context, std::initializer_list<int> scales) {
  if (!IsInteger(context.input(0).type())) {
    return Invalid("operand 0: expected integers, got ", context.input(0).shape().ToString());
  }
  for (int i : scales) {
    if (context.input(i).shape().element_count() == 1) continue;
    return Invalid("operand ", i, ": expected one scale, got ",
                   context.input(i).shape().ToString());
  }
  return absl::OkStatus();
}

// Operands: A, its scale and zero point, B, its scale and zero point, scale and zero point of the
// result.
Outputs Binary(NodeContext& context, absl::string_view value) {
  TARTAN_RETURN_IF_ERROR(CheckOperands(context, {1, 4, 6}));
  FunctionText text(context);
  text.Add("A", Real(text, 0));
  text.Add("B", Real(text, 3));
  return QuantizeResult(text, value, 6);
}

Outputs QLinearAdd(NodeContext& context) { return Binary(context, "A + B"); }

Outputs QLinearMul(NodeContext& context) { return Binary(context, "A * B"); }

// Operands of the following operators: X, its scale and zero point, scale and zero point of the
// result.
Outputs Unary(NodeContext& context, absl::string_view value) {
  TARTAN_RETURN_IF_ERROR(CheckOperands(context, {1, 3}));
  FunctionText text(context);
  text.Add("X", Real(text, 0));
  return QuantizeResult(text, value, 3);
}

Outputs QLinearSigmoid(NodeContext& context) { return Unary(context, "sigmoid(X)"); }

Outputs QLinearLeakyRelu(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const float alpha, context.Float("alpha", 0.01f));
  return Unary(context, absl::StrCat("X < 0 ? ", Literal(alpha), " * X : X"));
}

// `opset` is the operator set of the Softmax that it replaces.
Outputs QLinearSoftmax(NodeContext& context) {
  TARTAN_RETURN_IF_ERROR(CheckOperands(context, {1, 3}));
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(const int64_t opset, context.Int("opset", 13));
  TARTAN_ASSIGN_OR_RETURN(const int64_t axis, context.Axis("axis", opset < 13 ? 1 : -1, x.rank()));
  const std::vector<int64_t> axes =
      opset < 13 ? AxesFrom(axis, x.rank()) : std::vector<int64_t>{axis};
  FunctionText text(context);
  text.Add("X", Real(text, 0));
  text.Add(ReduceStatement("M", '>', "X", x.dims(), axes));
  text.Add("E", "exp(X - M)");
  text.Add(ReduceStatement("S", '+', "E", x.dims(), axes));
  return QuantizeResult(text, "E / S", 3);
}

// ONNX's pool `name` on the dequantized values, with the node's attributes.
Outputs Pool(NodeContext& context, absl::string_view name) {
  TARTAN_RETURN_IF_ERROR(CheckOperands(context, {1, 3}));
  TARTAN_ASSIGN_OR_RETURN(const int64_t channels_last, context.Int("channels_last", 0));
  const Tensor x = context.input(0);
  FunctionText real(context);
  real.Add("Y", Real(real, 0));
  TARTAN_ASSIGN_OR_RETURN(std::vector<Tensor> values, real.Apply("Y"));
  if (channels_last != 0) {
    TARTAN_ASSIGN_OR_RETURN(values[0], ChannelsFirst(context, values[0]));
  }
  context.SetInput(0, values[0]);
  constexpr int kOpset = 19;
  TARTAN_ASSIGN_OR_RETURN(std::vector<Tensor> pooled,
                          FindOperator("", name, kOpset)->handler(context));
  if (channels_last != 0) {
    TARTAN_ASSIGN_OR_RETURN(pooled[0], ChannelsLast(context, pooled[0]));
  }
  const bool has_zero = context.HasInput(4);
  const std::string value = Quantized(absl::StrCat("X / ", ReshapeCall("SCALE", {})),
                                      has_zero ? ReshapeCall("ZERO", {}) : "", x.type());
  std::vector<Tensor> operands = {pooled[0], context.input(3)};
  if (has_zero) operands.push_back(context.input(4));
  return context.Apply(
      TileFunction(has_zero ? "X, SCALE, ZERO" : "X, SCALE", "Y", {absl::StrCat("Y = ", value)}),
      operands);
}

Outputs QLinearAveragePool(NodeContext& context) { return Pool(context, "AveragePool"); }

Outputs QLinearGlobalAveragePool(NodeContext& context) {
  return Pool(context, "GlobalAveragePool");
}

// Computes SUM, the int32 matmul of A and B, then Y from the scales and the optional operand
// `bias`.
Outputs ScaledMatMul(FunctionText& text, absl::string_view a_scale, absl::string_view b_scale,
                     int bias) {
  const NodeContext& context = text.context();
  TARTAN_ASSIGN_OR_RETURN(
      const MatMulText product,
      MatMulStatement("SUM", "A", context.input(0).dims(), "B", context.input(1).dims()));
  text.Add(product.statement);
  const std::string plus = context.HasInput(bias) ? absl::StrCat(" + ", text.Operand(bias)) : "";
  text.Add("Y", Cast("SUM", DataType::kFloat32), " * (", a_scale, " * ", b_scale, ")", plus);
  return text.Apply("Y");
}

// Operands: A, B, their scales, their zero points, bias.
Outputs MatMulIntegerToFloat(NodeContext& context) {
  const std::vector<int64_t>& a = context.input(0).dims();
  const int64_t rows = RowAxis(context.input(0));
  FunctionText text(context);
  TARTAN_RETURN_IF_ERROR(AddInteger(text, "A", 0, 4, rows));
  TARTAN_RETURN_IF_ERROR(AddInteger(text, "B", 1, 5, -1));
  TARTAN_ASSIGN_OR_RETURN(const std::string a_scale, AlongAxis(text, 2, a, rows));
  TARTAN_ASSIGN_OR_RETURN(const std::string b_scale,
                          AlongAxis(text, 3, context.input(1).dims(), -1));
  return ScaledMatMul(text, a_scale, b_scale, 6);
}

// Operands: A in floats, B, its scale and zero point, bias.
Outputs DynamicQuantizeMatMul(NodeContext& context) {
  FunctionText text(context);
  AddDynamicQuantization(text, 0);
  text.Add("A", Cast("QUANTIZED", DataType::kInt32), " - ", Cast("ZERO", DataType::kInt32));
  TARTAN_RETURN_IF_ERROR(AddInteger(text, "B", 1, 3, -1));
  TARTAN_ASSIGN_OR_RETURN(const std::string b_scale,
                          AlongAxis(text, 2, context.input(1).dims(), -1));
  return ScaledMatMul(text, "SCALE", b_scale, 4);
}

constexpr OperatorRow kOperators[] = {
    MicrosoftRow("DynamicQuantizeMatMul", {3, 5}, DynamicQuantizeMatMul),
    MicrosoftRow("MatMulIntegerToFloat", {4, 7}, MatMulIntegerToFloat),
    MicrosoftRow("QLinearAdd", {7, 8}, QLinearAdd),
    MicrosoftRow("QLinearAveragePool", {4, 5}, QLinearAveragePool),
    MicrosoftRow("QLinearGlobalAveragePool", {4, 5}, QLinearGlobalAveragePool),
    MicrosoftRow("QLinearLeakyRelu", {4, 5}, QLinearLeakyRelu),
    MicrosoftRow("QLinearMul", {7, 8}, QLinearMul),
    MicrosoftRow("QLinearSigmoid", {4, 5}, QLinearSigmoid),
    MicrosoftRow("QLinearSoftmax", {4, 5}, QLinearSoftmax),
};

}  // namespace

absl::Span<const OperatorRow> MicrosoftQuantizationOperators() { return kOperators; }

}  // namespace tartan::onnx
