// Integers that stand for real numbers, value = (integer - zero point) * scale: conversions, and
// products and convolutions of integers, which are exact sums in int32.
#include "absl/strings/str_cat.h"
#include "frontend/onnx/matmul_text.h"
#include "frontend/onnx/operator_table.h"
#include "frontend/onnx/quantization_text.h"
#include "frontend/onnx/spatial_text.h"
#include "frontend/onnx/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

using Outputs = absl::StatusOr<std::vector<api::Tensor>>;
using Sizes = std::vector<int64_t>;
using api::Tensor;

// Scale and zero point of QuantizeLinear and DequantizeLinear, and the sizes between which they
// broadcast: with blocks, the axis falls into blocks and positions in them.
struct Parameters {
  std::string scale;
  std::string zero_point;  // empty: none
  Sizes dims;
};

absl::StatusOr<Parameters> ReadParameters(FunctionText& text) {
  const NodeContext& context = text.context();
  TARTAN_ASSIGN_OR_RETURN(int64_t axis, context.Int("axis", 1));
  TARTAN_ASSIGN_OR_RETURN(const int64_t block, context.Int("block_size", 0));
  Parameters parameters;
  parameters.dims = context.input(0).dims();
  const bool has_zero_point = context.HasInput(2);
  if (block == 0) {
    TARTAN_ASSIGN_OR_RETURN(parameters.scale, AlongAxis(text, 1, parameters.dims, axis));
    if (has_zero_point) {
      TARTAN_ASSIGN_OR_RETURN(parameters.zero_point, AlongAxis(text, 2, parameters.dims, axis));
    }
    return parameters;
  }
  TARTAN_ASSIGN_OR_RETURN(axis, NormalAxis(axis, context.input(0).rank()));
  const size_t along = static_cast<size_t>(axis);
  Sizes blocks = parameters.dims;
  if (block < 1 || blocks[along] % block != 0) {
    return Unsupported("blocks of ", block, " in dimension ", axis, " of size ", blocks[along]);
  }
  blocks[along] /= block;
  if (context.input(1).dims() != blocks) {
    return Invalid("scale ", context.input(1).shape().ToString(), ", expected ",
                   DimsToString(blocks));
  }
  if (has_zero_point && context.input(2).dims() != blocks) {
    return Invalid("zero point ", context.input(2).shape().ToString(), ", expected ",
                   DimsToString(blocks));
  }
  parameters.dims = blocks;
  parameters.dims.insert(parameters.dims.begin() + axis + 1, block);
  blocks.insert(blocks.begin() + axis + 1, 1);
  parameters.scale = ReshapeCall(text.Operand(1), blocks);
  if (has_zero_point) parameters.zero_point = ReshapeCall(text.Operand(2), blocks);
  return parameters;
}

Outputs QuantizeLinear(NodeContext& context) {
  const Sizes& dims = context.input(0).dims();
  TARTAN_ASSIGN_OR_RETURN(DataType type, context.Type("output_dtype", DataType::kUInt8));
  if (context.HasInput(2)) type = context.input(2).type();
  if (!IsInteger(type)) return Unsupported("quantization to ", Name(type));
  FunctionText text(context);
  const std::string x = text.Operand(0);
  TARTAN_ASSIGN_OR_RETURN(const Parameters parameters, ReadParameters(text));
  text.Add("X", Cast(ReshapeCall(x, parameters.dims), DataType::kFloat32));
  text.Add("Q", Quantized(absl::StrCat("X / ", Cast(parameters.scale, DataType::kFloat32)),
                          parameters.zero_point, type));
  text.Add("Y", ReshapeCall("Q", dims));
  return text.Apply("Y");
}

// The result has the type of the scale unless an attribute says otherwise.
Outputs DequantizeLinear(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const DataType type,
                          context.Type("output_dtype", context.input(1).type()));
  FunctionText text(context);
  const std::string x = text.Operand(0);
  TARTAN_ASSIGN_OR_RETURN(const Parameters parameters, ReadParameters(text));
  std::string value = Cast(ReshapeCall(x, parameters.dims), DataType::kInt32);
  if (!parameters.zero_point.empty()) {
    value = absl::StrCat("(", value, " - ", Cast(parameters.zero_point, DataType::kInt32), ")");
  }
  text.Add("R", absl::StrCat(Cast(value, DataType::kFloat32), " * ", parameters.scale));
  text.Add("Y", Cast(ReshapeCall("R", context.input(0).dims()), type));
  return text.Apply("Y");
}

// uint8 with the range of the operand, which is made to contain 0; outputs are the integers, the
// scale and the zero point.
Outputs DynamicQuantizeLinear(NodeContext& context) {
  FunctionText text(context);
  AddDynamicQuantization(text, 0);
  return text.Apply("QUANTIZED, SCALE, ZERO");
}

Outputs MatMulInteger(NodeContext& context) {
  FunctionText text(context);
  TARTAN_RETURN_IF_ERROR(AddInteger(text, "A", 0, 2, RowAxis(context.input(0))));
  TARTAN_RETURN_IF_ERROR(AddInteger(text, "B", 1, 3, -1));
  TARTAN_ASSIGN_OR_RETURN(
      const MatMulText product,
      MatMulStatement("Y", "A", context.input(0).dims(), "B", context.input(1).dims()));
  text.Add(product.statement);
  return text.Apply("Y");
}

Outputs ConvInteger(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const Convolution convolution,
                          ReadConvolution(context, context.input(0), context.input(1)));
  FunctionText text(context);
  TARTAN_RETURN_IF_ERROR(AddInteger(text, "X", 0, 2, 1));
  TARTAN_RETURN_IF_ERROR(AddInteger(text, "W", 1, 3, 0));
  text.Add(ConvolutionStatement(convolution, "Y", "X", "W"));
  return text.Apply("Y");
}

// Y from the int32 SUM and the scales and zero point of the result (operands 6 and 7), which have
// one element.
Outputs Requantize(FunctionText& text, absl::string_view a_scale, absl::string_view b_scale) {
  const DataType type = text.context().input(7).type();
  text.Add("REAL",
           absl::StrCat(Cast("SUM", DataType::kFloat32), " * (", Cast(a_scale, DataType::kFloat32),
                        " * ", Cast(b_scale, DataType::kFloat32), " / ",
                        Cast(ReshapeCall(text.Operand(6), {}), DataType::kFloat32), ")"));
  text.Add("Y", Quantized("REAL", ReshapeCall(text.Operand(7), {}), type));
  return text.Apply("Y");
}

Outputs QLinearMatMul(NodeContext& context) {
  const int64_t rows = RowAxis(context.input(0));
  FunctionText text(context);
  TARTAN_RETURN_IF_ERROR(AddInteger(text, "A", 0, 2, rows));
  TARTAN_RETURN_IF_ERROR(AddInteger(text, "B", 3, 5, -1));
  TARTAN_ASSIGN_OR_RETURN(
      const MatMulText product,
      MatMulStatement("SUM", "A", context.input(0).dims(), "B", context.input(3).dims()));
  text.Add(product.statement);
  TARTAN_ASSIGN_OR_RETURN(const std::string a_scale,
                          AlongAxis(text, 1, context.input(0).dims(), rows));
  TARTAN_ASSIGN_OR_RETURN(const std::string b_scale,
                          AlongAxis(text, 4, context.input(3).dims(), -1));
  return Requantize(text, a_scale, b_scale);
}

// Operand 8 is an int32 bias in units of the product of the scales.
Outputs QLinearConv(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const Convolution convolution,
                          ReadConvolution(context, context.input(0), context.input(3)));
  const size_t spatial_rank = convolution.window.rank();
  FunctionText text(context);
  TARTAN_RETURN_IF_ERROR(AddInteger(text, "X", 0, 2, 1));
  TARTAN_RETURN_IF_ERROR(AddInteger(text, "W", 3, 5, 0));
  text.Add(ConvolutionStatement(convolution, "PRODUCT", "X", "W"));
  std::string sum = "PRODUCT";
  if (context.HasInput(8)) {
    if (context.input(8).shape().element_count() != convolution.outputs()) {
      return Invalid("the bias is ", context.input(8).shape().ToString(), " for ",
                     convolution.outputs(), " channels");
    }
    absl::StrAppend(&sum, " + ", PerChannel(text.Operand(8), convolution.outputs(), spatial_rank));
  }
  text.Add("SUM", sum);
  TARTAN_ASSIGN_OR_RETURN(const std::string x_scale, AlongAxis(text, 1, convolution.dims(), 1));
  TARTAN_ASSIGN_OR_RETURN(const std::string w_scale, AlongAxis(text, 4, convolution.dims(), 1));
  return Requantize(text, x_scale, w_scale);
}

constexpr OperatorRow kOperators[] = {
    {"ConvInteger", 10, {2, 4}, ConvInteger},
    {"DequantizeLinear", 10, {2, 3}, DequantizeLinear},
    {"DynamicQuantizeLinear", 11, {1, 1}, DynamicQuantizeLinear},
    {"MatMulInteger", 10, {2, 4}, MatMulInteger},
    {"QLinearConv", 10, {8, 9}, QLinearConv},
    {"QLinearMatMul", 10, {8, 8}, QLinearMatMul},
    {"QuantizeLinear", 10, {2, 3}, QuantizeLinear},
};

}  // namespace

absl::Span<const OperatorRow> QuantizationOperators() { return kOperators; }

}  // namespace tartan::onnx
