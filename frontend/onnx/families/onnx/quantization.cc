// SPDX-License-Identifier: Apache-2.0
// Quantized operators, where value = (integer - zero point) * scale: conversions, and matmuls and
// convolutions of integers, which are exact sums in int32.
#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/shared/low_precision.h"
#include "frontend/onnx/families/shared/matmul_text.h"
#include "frontend/onnx/families/shared/quantization_text.h"
#include "frontend/onnx/families/shared/spatial_text.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// Scale and zero point of QuantizeLinear and DequantizeLinear, and the sizes in which they
// broadcast. With blocks, the axis may be split into blocks and positions within them.
struct Parameters {
  std::string scale;
  std::string zero_point;  // empty: none
  Sizes dims;
};

// Adds `target`: `name`, of sizes `blocks`, with each element repeated for its block along `axis`
// of `dims`. The last block may be incomplete.
std::string AddRepeated(FunctionText& text, absl::string_view target, const std::string& name,
                        size_t axis, int64_t block, const Sizes& dims) {
  const std::vector<std::string> written = IndexNames(static_cast<int64_t>(dims.size()));
  std::vector<std::string> read = written;
  read[axis] = std::string("b");
  text.Add(Write(target, written, dims), "=(", Read(name, read), "), ", written[axis], " - ", block,
           " * b < ", block);
  return std::string(target);
}

absl::StatusOr<Parameters> ReadBlocks(FunctionText& text, size_t axis, int64_t block) {
  const NodeContext& context = text.context();
  const Sizes& dims = context.input(0).dims();
  if (block < 1) return Invalid("blocks of ", block);
  Sizes blocks = dims;
  blocks[axis] = blocks[axis] / block + (blocks[axis] % block != 0);
  const bool has_zero_point = context.HasInput(2);
  for (int i = 1; i <= (has_zero_point ? 2 : 1); ++i) {
    if (context.input(i).dims() == blocks) continue;
    return Invalid(i == 1 ? "scale " : "zero point ", context.input(i).shape().ToString(),
                   ", expected ", DimsToString(blocks));
  }
  Parameters parameters;
  const std::string scale = text.Operand(1);
  const std::string zero_point = has_zero_point ? text.Operand(2) : "";
  if (dims[axis] % block != 0) {
    parameters.dims = dims;
    parameters.scale = AddRepeated(text, "SCALES", scale, axis, block, dims);
    if (has_zero_point) {
      parameters.zero_point = AddRepeated(text, "ZEROS", zero_point, axis, block, dims);
    }
    return parameters;
  }
  const int64_t inside = static_cast<int64_t>(axis) + 1;
  parameters.dims = blocks;
  parameters.dims.insert(parameters.dims.begin() + inside, block);
  blocks.insert(blocks.begin() + inside, 1);
  parameters.scale = ReshapeCall(scale, blocks);
  if (has_zero_point) parameters.zero_point = ReshapeCall(zero_point, blocks);
  return parameters;
}

absl::StatusOr<Parameters> ReadParameters(FunctionText& text) {
  const NodeContext& context = text.context();
  TARTAN_ASSIGN_OR_RETURN(int64_t axis, context.Int("axis", 1));
  TARTAN_ASSIGN_OR_RETURN(const int64_t block, context.Int("block_size", 0));
  if (block != 0) {
    TARTAN_ASSIGN_OR_RETURN(axis, NormalAxis(axis, context.input(0).rank()));
    return ReadBlocks(text, static_cast<size_t>(axis), block);
  }
  Parameters parameters;
  parameters.dims = context.input(0).dims();
  TARTAN_ASSIGN_OR_RETURN(parameters.scale, AlongAxis(text, 1, parameters.dims, axis));
  if (context.HasInput(2)) {
    TARTAN_ASSIGN_OR_RETURN(parameters.zero_point, AlongAxis(text, 2, parameters.dims, axis));
  }
  return parameters;
}

// An attribute that names an element type, where 0 means `otherwise`.
absl::StatusOr<ElementType> TypeAttribute(const NodeContext& context, absl::string_view name,
                                          const ElementType& otherwise) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t number, context.Int(name, 0));
  if (number == 0) return otherwise;
  return ElementFromOnnx(static_cast<int32_t>(number));
}

// Converts low-precision floats among the operands to float32, since FunctionText reads tensors.
absl::Status DecodeOperands(NodeContext& context) {
  for (int i = 0; i < context.input_count(); ++i) {
    if (i >= 2 && !context.HasInput(i)) continue;
    TARTAN_ASSIGN_OR_RETURN(Tensor plain, DecodeLowPrecision(context, context.value(i)));
    context.SetInput(i, Value(std::move(plain)));
  }
  return absl::OkStatus();
}

// The type of the zero point, else the type of the attribute, else uint8.
absl::StatusOr<ElementType> QuantizedType(const NodeContext& context) {
  const bool has_zero_point = context.HasInput(2);
  const ElementType natural =
      has_zero_point ? TypeOf(context.value(2)) : ElementType{DataType::kUInt8};
  TARTAN_ASSIGN_OR_RETURN(const ElementType type, TypeAttribute(context, "output_dtype", natural));
  if (has_zero_point && type != natural) {
    return Invalid("attribute 'output_dtype' is ", NameOf(type), ", the zero point is of ",
                   NameOf(natural));
  }
  const bool fits = IsInteger(type) || (IsFloat(type) && type.element != api::Element::kPlain);
  if (!fits) return Invalid("quantization to ", NameOf(type));
  return type;
}

// The division uses the scale's type, unless an attribute names another.
absl::StatusOr<DataType> DivisionType(const NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const ElementType type,
                          TypeAttribute(context, "precision", TypeOf(context.value(1))));
  return tartan::IsFloat(type.type) ? type.type : DataType::kFloat32;
}

OutputValues QuantizeLinear(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const ElementType type, QuantizedType(context));
  TARTAN_ASSIGN_OR_RETURN(const DataType division, DivisionType(context));
  TARTAN_ASSIGN_OR_RETURN(const EncodingOptions how, ReadEncodingOptions(context));
  TARTAN_RETURN_IF_ERROR(DecodeOperands(context));
  const Sizes& dims = context.input(0).dims();
  FunctionText text(context);
  const std::string x = text.Operand(0);
  TARTAN_ASSIGN_OR_RETURN(const Parameters parameters, ReadParameters(text));
  text.Add("X", Cast(ReshapeCall(x, parameters.dims), division));
  std::string real = Cast(absl::StrCat("X / ", Cast(parameters.scale, division)), division);
  if (IsInteger(type)) {
    text.Add("Q", Quantized(real, parameters.zero_point, type.type, LimitsOf(type)));
  } else {
    if (!parameters.zero_point.empty()) absl::StrAppend(&real, " + ", parameters.zero_point);
    text.Add("Q", Cast(real, DataType::kFloat32));
  }
  text.Add("Y", ReshapeCall("Q", dims));
  TARTAN_ASSIGN_OR_RETURN(std::vector<Tensor> y, text.Apply("Y"));
  if (IsInteger(type)) return std::vector<Value>{Value(std::move(y[0]), type.element)};
  TARTAN_ASSIGN_OR_RETURN(Value narrow, EncodeElements(context, y[0], type, how));
  return std::vector<Value>{std::move(narrow)};
}

// The result has the type of the scale unless an attribute names another.
OutputValues DequantizeLinear(NodeContext& context) {
  ElementType natural = TypeOf(context.value(1));
  if (natural.element != api::Element::kPlain) natural = {DataType::kFloat32};
  TARTAN_ASSIGN_OR_RETURN(const ElementType type, TypeAttribute(context, "output_dtype", natural));
  if (type.element != api::Element::kPlain || !IsFloat(type)) {
    return Invalid("attribute 'output_dtype': ", NameOf(type));
  }
  TARTAN_RETURN_IF_ERROR(DecodeOperands(context));
  const DataType stored = context.input(0).type();
  const DataType exact = tartan::IsFloat(stored) ? stored : DataType::kInt32;
  FunctionText text(context);
  const std::string x = text.Operand(0);
  TARTAN_ASSIGN_OR_RETURN(const Parameters parameters, ReadParameters(text));
  std::string value = Cast(ReshapeCall(x, parameters.dims), exact);
  if (!parameters.zero_point.empty()) {
    value = absl::StrCat("(", value, " - ", Cast(parameters.zero_point, exact), ")");
  }
  text.Add("R", Cast(value, DataType::kFloat32), " * ", parameters.scale);
  text.Add("Y", Cast(ReshapeCall("R", context.input(0).dims()), type.type));
  TARTAN_ASSIGN_OR_RETURN(std::vector<Tensor> y, text.Apply("Y"));
  return std::vector<Value>{Value(std::move(y[0]))};
}

// Quantizes to uint8 over the operand's range extended to contain 0. The outputs are the integers,
// the scale and the zero point.
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

// Computes Y from the int32 SUM and the scale and zero point of the result (operands 6 and 7),
// which have one element each.
Outputs Requantize(FunctionText& text, absl::string_view a_scale, absl::string_view b_scale) {
  const DataType type = text.context().input(7).type();
  text.Add("REAL", Cast("SUM", DataType::kFloat32), " * (", Cast(a_scale, DataType::kFloat32),
           " * ", Cast(b_scale, DataType::kFloat32), " / ",
           Cast(ReshapeCall(text.Operand(6), {}), DataType::kFloat32), ")");
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

// Operand 8 is an int32 bias with scale a_scale * b_scale.
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
    ValueRow("DequantizeLinear", 10, {2, 3}, DequantizeLinear),
    {"DynamicQuantizeLinear", 11, {1, 1}, DynamicQuantizeLinear},
    {"MatMulInteger", 10, {2, 4}, MatMulInteger},
    {"QLinearConv", 10, {8, 9}, QLinearConv},
    {"QLinearMatMul", 10, {8, 8}, QLinearMatMul},
    ValueRow("QuantizeLinear", 10, {2, 3}, QuantizeLinear),
};

}  // namespace

absl::Span<const OperatorRow> QuantizationOperators() { return kOperators; }

}  // namespace tartan::onnx
