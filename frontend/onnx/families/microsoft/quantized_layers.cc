// SPDX-License-Identifier: Apache-2.0
// Microsoft's layers on quantized tensors that ONNX lacks or has in another form: matmuls and
// convolutions with layout attributes, concatenation of tensors with different scales, gathers from
// packed tables, integer arithmetic and reductions.
#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/microsoft/families.h"
#include "frontend/onnx/families/microsoft/operators.h"
#include "frontend/onnx/families/shared/matmul_text.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/families/shared/quantization_text.h"
#include "frontend/onnx/import/constant_tensors.h"
#include "frontend/onnx/import/operator_table.h"
#include "frontend/onnx/tile_text/reduction_text.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// Operands: A, its scale and zero point, B, its scale and zero point, C (int32, with the scale of A
// * B), scale and zero point of the result. Without these the result is float32.
Outputs QGemm(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const float alpha, context.Float("alpha", 1.0f));
  for (const auto& [operand, attribute] : {std::pair{0, "transA"}, std::pair{3, "transB"}}) {
    TARTAN_ASSIGN_OR_RETURN(const int64_t transposed, context.Int(attribute, 0));
    const Tensor& x = context.input(operand);
    if (x.rank() != 2) return Invalid("operand ", operand, " is ", x.shape().ToString());
    if (transposed == 0) continue;
    TARTAN_ASSIGN_OR_RETURN(Tensor swapped, Transpose(context, x, {1, 0}));
    context.SetInput(operand, Value(std::move(swapped)));
  }
  const std::vector<int64_t>& b = context.input(3).dims();
  const std::vector<int64_t> dims = {context.input(0).dims()[0], b[1]};
  FunctionText text(context);
  TARTAN_RETURN_IF_ERROR(AddInteger(text, "A", 0, 2, -1));
  TARTAN_RETURN_IF_ERROR(AddInteger(text, "B", 3, 5, -1));
  TARTAN_ASSIGN_OR_RETURN(const MatMulText product,
                          MatMulStatement("P", "A", context.input(0).dims(), "B", b));
  text.Add(product.statement);
  text.Add("SUM", context.HasInput(6) ? absl::StrCat("P + ", text.Operand(6)) : "P");
  TARTAN_ASSIGN_OR_RETURN(const std::string a_scale, AlongAxis(text, 1, dims, -1));
  TARTAN_ASSIGN_OR_RETURN(const std::string b_scale, AlongAxis(text, 4, dims, -1));
  text.Add("SCALE", Literal(alpha), " * ", a_scale, " * ", b_scale);
  const std::string sum = Cast("SUM", DataType::kFloat32);
  if (!context.HasInput(8)) {
    text.Add("Y", sum, " * SCALE");
    return text.Apply("Y");
  }
  if (!context.HasInput(7))
    return Invalid("the zero point of the result is given without its scale");
  const std::string scale = ReshapeCall(text.Operand(7), {});
  const std::string zero = ReshapeCall(text.Operand(8), {});
  text.Add("Y",
           Quantized(absl::StrCat(sum, " * (SCALE / ", scale, ")"), zero, context.input(8).type()));
  return text.Apply("Y");
}

// Operand `i`, with scale and zero point in the next two operands, requantized to the scale in
// operand `scale` and the zero point after it.
absl::StatusOr<Tensor> Rescaled(const NodeContext& context, int i, int scale) {
  const DataType type = context.input(scale + 1).type();
  for (int s : {i + 1, i + 2, scale, scale + 1}) {
    if (context.input(s).shape().element_count() == 1) continue;
    return Invalid("operand ", s, ": expected one element, got ",
                   context.input(s).shape().ToString());
  }
  const std::string number = absl::StrCat(Cast("X", DataType::kInt32), " - ",
                                          Cast(ReshapeCall("ZX", {}), DataType::kInt32));
  const std::string real = absl::StrCat(Cast(number, DataType::kFloat32), " * ",
                                        ReshapeCall("SX", {}), " / ", ReshapeCall("SY", {}));
  return context.ApplyOne(
      TileFunction("X, SX, ZX, SY, ZY", "Y",
                   {absl::StrCat("Y = ", Quantized(real, ReshapeCall("ZY", {}), type))}),
      {context.input(i), context.input(i + 1), context.input(i + 2), context.input(scale),
       context.input(scale + 1)});
}

// Operands: scale and zero point of the result, then each part with its scale and zero point.
Outputs QLinearConcat(NodeContext& context) {
  if (context.input_count() % 3 != 2) return Invalid(context.input_count(), " operands");
  const std::vector<int64_t>& first = context.input(2).dims();
  TARTAN_ASSIGN_OR_RETURN(const int64_t axis, context.Axis("axis", context.input(2).rank()));
  std::vector<Tensor> parts;
  for (int i = 2; i < context.input_count(); i += 3) {
    std::vector<int64_t> expected = first;
    const std::vector<int64_t>& dims = context.input(i).dims();
    const size_t along = static_cast<size_t>(axis);
    if (dims.size() == expected.size()) expected[along] = dims[along];
    if (dims != expected) {
      return Invalid("operand ", i, " is ", context.input(i).shape().ToString(), " beside ",
                     context.input(2).shape().ToString());
    }
    TARTAN_ASSIGN_OR_RETURN(parts.emplace_back(), Rescaled(context, i, 0));
  }
  return OneTensor(ConcatOf(context, parts, axis));
}

// Operands: condition, X, its scale and zero point, Y, its scale and zero point, scale and zero
// point of the result.
Outputs QLinearWhere(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const Tensor x, Rescaled(context, 1, 7));
  TARTAN_ASSIGN_OR_RETURN(const Tensor y, Rescaled(context, 4, 7));
  return context.Apply("function (C, X, Y) -> (Z) { Z = C ? X : Y; }", {context.input(0), x, y});
}

// ONNX's convolution `name`, optionally with channels last in operand 0.
Outputs Convolve(NodeContext& context, absl::string_view name, bool channels_last) {
  constexpr int kOpset = 11;
  const Handler convolve = FindOperator("", name, kOpset)->handler;
  if (!channels_last) return convolve(context);
  TARTAN_ASSIGN_OR_RETURN(Tensor x, ChannelsFirst(context, context.input(0)));
  context.SetInput(0, Value(std::move(x)));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> made, convolve(context));
  return OneTensor(ChannelsLast(context, made[0]));
}

Outputs QLinearConv(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t channels_last, context.Int("channels_last", 0));
  return Convolve(context, "QLinearConv", channels_last != 0);
}

Outputs NhwcConv(NodeContext& context) { return Convolve(context, "Conv", true); }

// --- GatherBlockQuantized

// Unpacks two 4-bit values per byte, the lower first, along the last dimension.
absl::StatusOr<Tensor> UnpackNibbles(const NodeContext& context, const Tensor& x) {
  std::vector<int64_t> dims = x.dims();
  std::vector<int64_t> apart = dims;
  apart.push_back(1);
  dims.back() *= 2;
  return context.ApplyOne(
      TileFunction("X, PART", "Y",
                   {absl::StrCat("B = ", ReshapeCall(Cast("X", DataType::kInt32), apart)),
                    "H = (B >> (PART * 4)) & 15", absl::StrCat("Y = ", ReshapeCall("H", dims))}),
      {x, ConstantInts({0, 1})});
}

absl::Status CheckBlockOperands(const NodeContext& context) {
  for (int i : {0, 1, 2, 3}) {
    const Value& value = context.value(i);
    if (i == 3 && value.is_nothing()) continue;
    const bool may_be_narrow = i == 0 || i == 3;
    if (!value.is_tensor() || (!may_be_narrow && value.element() != api::Element::kPlain)) {
      return Invalid("operand ", i, ": a tensor of numbers is expected");
    }
    if (i != 1 && value.tensor().rank() != context.value(0).tensor().rank()) {
      return Invalid("operand ", i, " is ", value.tensor().shape().ToString(), " for a table of ",
                     context.value(0).tensor().shape().ToString());
    }
  }
  return absl::OkStatus();
}

// Operands: table, positions, scales and zero points of blocks along 'quantize_axis'. Rows are
// gathered before they are unpacked, so the table stays packed.
OutputValues GatherBlockQuantized(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t block, context.Int("block_size", 128));
  TARTAN_ASSIGN_OR_RETURN(const int64_t bits, context.Int("bits", 4));
  TARTAN_ASSIGN_OR_RETURN(int64_t gathered, context.Int("gather_axis", 0));
  TARTAN_ASSIGN_OR_RETURN(int64_t axis, context.Int("quantize_axis", 1));
  const bool is_bytes = context.value(0).element() == api::Element::kPlain;
  const bool is_packed = is_bytes && bits == 4;
  if (bits != 4 && !(is_bytes && bits == 8)) return Unsupported("a table of ", bits, " bits");
  TARTAN_RETURN_IF_ERROR(CheckBlockOperands(context));
  const Tensor table = context.value(0).tensor();
  Tensor positions = context.input(1);
  TARTAN_ASSIGN_OR_RETURN(gathered, NormalAxis(gathered, table.rank()));
  TARTAN_ASSIGN_OR_RETURN(axis, NormalAxis(axis, table.rank()));
  if (gathered == axis) return Invalid("'gather_axis' and 'quantize_axis' are both ", axis);
  if (is_packed && axis != table.rank() - 1) return Invalid("packed along dimension ", axis);
  if (block < 1) return Invalid("blocks of ", block);
  if (!IsInteger(positions.type())) return Invalid("operand 1: integers are expected");
  const auto take = [&](const Tensor& x, bool unpack) -> absl::StatusOr<Tensor> {
    TARTAN_ASSIGN_OR_RETURN(Tensor rows, TakeOf(context, x, positions, gathered));
    return unpack ? UnpackNibbles(context, rows) : std::move(rows);
  };
  TARTAN_ASSIGN_OR_RETURN(positions, context.Checked(positions, {IndexBounds(table, gathered)}));
  TARTAN_ASSIGN_OR_RETURN(const Tensor numbers, take(table, is_packed));
  TARTAN_ASSIGN_OR_RETURN(const Tensor scales, take(context.input(2), false));
  // The quantized dimension in the result, where operand 1's dimensions replace the gathered one.
  const size_t along = static_cast<size_t>(axis > gathered ? axis - 1 + positions.rank() : axis);
  const std::vector<int64_t>& dims = numbers.dims();
  std::vector<int64_t> blocks = dims;
  blocks[along] = (blocks[along] + block - 1) / block;
  std::vector<Tensor> operands = {numbers, scales};
  std::string zero = is_bytes ? absl::StrCat(int64_t{1} << (bits - 1)) : "0";
  const std::vector<std::string> written = IndexNames(numbers.rank());
  std::vector<std::string> read = written;
  read[along] = std::string("b");
  const std::string within = absl::StrCat(", ", written[along], " - ", block, " * b < ", block);
  std::vector<std::string> statements = {
      absl::StrCat(Write("SCALE", written, dims), " = =(", Read("S", read), ")", within)};
  if (!context.value(3).is_nothing()) {
    TARTAN_ASSIGN_OR_RETURN(Tensor zeros, take(context.value(3).tensor(), is_packed));
    Window window = WholeOf(zeros);
    window.sizes[along] = std::min(window.sizes[along], blocks[along]);
    TARTAN_ASSIGN_OR_RETURN(zeros, SliceOf(context, zeros, window));
    if (zeros.dims() != blocks) return Invalid("zero points ", zeros.shape().ToString());
    operands.push_back(zeros);
    statements.push_back(
        absl::StrCat(Write("ZERO", written, dims), " = =(", Read("Z", read), ")", within));
    zero = Cast("ZERO", DataType::kInt32);
  }
  if (scales.dims() != blocks) {
    return Invalid("scales ", context.input(2).shape().ToString(), " for blocks of ", block, " of ",
                   context.input(0).shape().ToString());
  }
  statements.push_back(absl::StrCat("R = ", Cast("X", DataType::kInt32), " - ", zero));
  statements.push_back(absl::StrCat("P = ", Cast("R", DataType::kFloat32), " * SCALE"));
  statements.push_back(absl::StrCat("Y = ", Cast("P", scales.type())));
  const char* const names = operands.size() == 3 ? "X, S, Z" : "X, S";
  return OneValue(context.ApplyOne(TileFunction(names, "Y", statements), operands));
}

// --- Integers

bool IsUnsigned(DataType type) { return MinInteger(type) == 0; }

Outputs MatMulInteger16(NodeContext& context) {
  FunctionText text(context);
  TARTAN_RETURN_IF_ERROR(AddInteger(text, "A", 0, kAnyNumber, -1));
  TARTAN_RETURN_IF_ERROR(AddInteger(text, "B", 1, kAnyNumber, -1));
  TARTAN_ASSIGN_OR_RETURN(
      const MatMulText product,
      MatMulStatement("SUM", "A", context.input(0).dims(), "B", context.input(1).dims()));
  text.Add(product.statement);
  const bool is_unsigned =
      IsUnsigned(context.input(0).type()) && IsUnsigned(context.input(1).type());
  text.Add("Y", Cast("SUM", is_unsigned ? DataType::kUInt32 : DataType::kInt32));
  return text.Apply("Y");
}

// Operands: A, its zero point, B, its zero point.
Outputs MulInteger(NodeContext& context) {
  FunctionText text(context);
  TARTAN_RETURN_IF_ERROR(AddInteger(text, "A", 0, 1, -1));
  TARTAN_RETURN_IF_ERROR(AddInteger(text, "B", 2, 3, -1));
  text.Add("Y", "A * B");
  return text.Apply("Y");
}

struct Reduction {
  std::vector<int64_t> axes;
  std::vector<int64_t> dims;  // of the result
};

absl::StatusOr<Reduction> ReadReduction(const NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(const int64_t keeps, context.Int("keepdims", 1));
  TARTAN_ASSIGN_OR_RETURN(std::vector<int64_t> axes, context.Ints("axes", AxesFrom(0, x.rank())));
  TARTAN_ASSIGN_OR_RETURN(axes, NormalAxes(axes, x.rank()));
  return Reduction{axes, keeps != 0 ? KeptDims(x.dims(), axes) : DroppedDims(x.dims(), axes)};
}

Outputs ReduceSumInteger(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const Reduction reduction, ReadReduction(context));
  const Tensor& x = context.input(0);
  const DataType type = IsUnsigned(x.type()) ? DataType::kUInt32 : DataType::kInt32;
  return context.Apply(TileFunction(
      "X", "Y",
      {"WIDE = " + Cast("X", type), ReduceStatement("S", '+', "WIDE", x.dims(), reduction.axes),
       "Y = " + ReshapeCall("S", reduction.dims)}));
}

// Operands: data, its scale and zero point, scale and zero point of the result.
Outputs QLinearReduceMean(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const Reduction reduction, ReadReduction(context));
  const Tensor& x = context.input(0);
  FunctionText text(context);
  TARTAN_RETURN_IF_ERROR(AddInteger(text, "X", 0, 2, -1));
  const int64_t elements = ReducedCount(x.dims(), reduction.axes);
  // A term has 9 bits; a sum of more than 2^22 terms needs 64 bits.
  constexpr int64_t kMaxInInt32 = int64_t{1} << 22;
  text.Add("WIDE", elements > kMaxInInt32 ? Cast("X", DataType::kInt64) : "X");
  text.Add(ReduceStatement("SUM", '+', "WIDE", x.dims(), reduction.axes));
  const double count = static_cast<double>(elements);
  text.Add("MEAN", Cast("SUM", DataType::kFloat32), " / ", Literal(count), " * ",
           ReshapeCall(text.Operand(1), {}));
  text.Add("FLAT", ReshapeCall("MEAN", reduction.dims));
  const std::string scale = ReshapeCall(text.Operand(3), {});
  const std::string zero = context.HasInput(4) ? ReshapeCall(text.Operand(4), {}) : "";
  text.Add("Y", Quantized(absl::StrCat("FLAT / ", scale), zero, x.type()));
  return text.Apply("Y");
}

// --- QEmbedLayerNormalization

// Dequantizes operand `from` with operands `scale` and `zero`, and sets operand `i`.
absl::Status Dequantize(NodeContext& context, int i, int from, int scale, int zero) {
  for (int operand : {from, scale, zero}) {
    if (!context.HasInput(operand)) return Invalid("operand ", operand, " is missing");
  }
  FunctionText text(context);
  TARTAN_RETURN_IF_ERROR(AddInteger(text, "N", from, zero, -1));
  text.Add("Y", Cast("N", DataType::kFloat32), " * ", ReshapeCall(text.Operand(scale), {}));
  TARTAN_ASSIGN_OR_RETURN(std::vector<Tensor> made, text.Apply("Y"));
  context.SetInput(i, Value(std::move(made[0])));
  return absl::OkStatus();
}

// Operands: like EmbedLayerNormalization's up to the mask, then scales of the five tables, then
// their zero points.
Outputs QEmbedLayerNormalization(NodeContext& context) {
  const bool has_segments = context.HasInput(4);
  for (int table = 0; table < 5; ++table) {
    const int i = 2 + table;
    if (table == 2 && !has_segments) continue;
    TARTAN_RETURN_IF_ERROR(Dequantize(context, i, i, 8 + table, 13 + table));
  }
  for (int i = 8; i < 18; ++i) context.SetInput(i, Value());
  TARTAN_ASSIGN_OR_RETURN(
      std::vector<Tensor> made,
      FindOperator(kMicrosoftDomain, "EmbedLayerNormalization", 1)->handler(context));
  made.resize(2);
  return made;
}

constexpr OperatorRow kOperators[] = {
    In(kMicrosoftDomain, ValueRow("GatherBlockQuantized", 1, {3, 4}, GatherBlockQuantized)),
    MicrosoftRow("MatMulInteger16", {2, 2}, MatMulInteger16),
    MicrosoftRow("MulInteger", {1, 4}, MulInteger),
    MicrosoftRow("NhwcConv", {2, 3}, NhwcConv),
    MicrosoftRow("QEmbedLayerNormalization", {1, 18}, QEmbedLayerNormalization),
    MicrosoftRow("QGemm", {6, 9}, QGemm),
    MicrosoftRow("QLinearConcat", {5, kAnyNumber}, QLinearConcat),
    MicrosoftRow("QLinearConv", {8, 9}, QLinearConv),
    MicrosoftRow("QLinearReduceMean", {4, 5}, QLinearReduceMean),
    MicrosoftRow("QLinearWhere", {9, 9}, QLinearWhere),
    MicrosoftRow("ReduceSumInteger", {1, 1}, ReduceSumInteger),
};

}  // namespace

absl::Span<const OperatorRow> MicrosoftQuantizedLayerOperators() { return kOperators; }

}  // namespace tartan::onnx
