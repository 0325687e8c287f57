// SPDX-License-Identifier: Apache-2.0
// Microsoft's elementwise and row operators that ONNX lacks, or has in another layout: complex
// arithmetic, 4-bit float tables, crops, windows, n-gram blocking.
#include <map>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/microsoft/families.h"
#include "frontend/onnx/families/microsoft/operators.h"
#include "frontend/onnx/families/shared/matmul_text.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/families/shared/quantization_text.h"
#include "frontend/onnx/import/constant_tensors.h"
#include "frontend/onnx/import/operator_table.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// True if no element is NaN or infinite.
Outputs IsAllFinite(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t nan_only, context.Int("isnan_only", 0));
  TARTAN_ASSIGN_OR_RETURN(const int64_t infinity_only, context.Int("isinf_only", 0));
  FunctionText text(context);
  std::string all;
  for (int i = 0; i < context.input_count(); ++i) {
    const std::string x = text.Operand(i);
    // Infinity minus itself is NaN.
    const std::string odd = nan_only != 0 ? absl::StrCat("isnan(", x, ")")
                            : infinity_only != 0
                                ? absl::StrCat("isnan(", x, " - ", x, ") && !isnan(", x, ")")
                                : absl::StrCat("isnan(", x, " - ", x, ")");
    text.Add(absl::StrCat("ODD", i), odd, " ? 1 : 0");
    text.Add(absl::StrCat("COUNT", i, "[] = +(",
                          Read(absl::StrCat("ODD", i), IndexNames(context.input(i).rank())), ")"));
    absl::StrAppend(&all, i == 0 ? "" : " && ", "COUNT", i, " == 0");
  }
  text.Add("Y", all);
  return text.Apply("Y");
}

// Multiplies pairs of a real and an imaginary part along the last dimension.
Outputs ComplexMul(NodeContext& context) {
  Sizes dims;
  std::vector<std::string> statements;
  for (int i : {0, 1}) {
    const Tensor& x = context.input(i);
    if (x.rank() < 1 || x.dims().back() != 2) {
      return Invalid("operand ", i, ": pairs are expected, got ", x.shape().ToString());
    }
    const char* const name = i == 0 ? "A" : "B";
    std::vector<std::string> read = IndexNames(x.rank());
    Sizes single = x.dims();
    single.back() = 1;
    for (const char* part : {"0", "1"}) {
      std::vector<std::string> write = read;
      write.back() = "0";
      std::vector<std::string> from = read;
      from.back() = part;
      statements.push_back(absl::StrCat(Write(absl::StrCat(name, part), write, single), " = =(",
                                        Read(name, from), ")"));
    }
  }
  statements.push_back("REAL = A0 * B0 - A1 * B1");
  statements.push_back("IMAGINARY = A0 * B1 + A1 * B0");
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> parts,
                          context.Apply(TileFunction("A, B", "REAL, IMAGINARY", statements)));
  return OneTensor(ConcatOf(context, parts, parts[0].rank() - 1));
}

// --- MatMulBnb4

// The values of the 16 codes: FP4 of bitsandbytes, then NF4 of Dettmers et al., "QLoRA", 2023.
constexpr double kFloat4[] = {0,
                              0.0052083333488553762,
                              0.66666668653488159,
                              1,
                              0.33333334326744080,
                              0.5,
                              0.16666667163372040,
                              0.25,
                              -0.0,
                              -0.0052083333488553762,
                              -0.66666668653488159,
                              -1,
                              -0.33333334326744080,
                              -0.5,
                              -0.16666667163372040,
                              -0.25};
constexpr double kNormalFloat4[] = {-1,
                                    -0.69619280099868774,
                                    -0.52507305145263672,
                                    -0.39491748809814453,
                                    -0.28444138169288635,
                                    -0.18477343022823334,
                                    -0.091050036251544952,
                                    0,
                                    0.079580299556255341,
                                    0.16093020141124725,
                                    0.24611230194568634,
                                    0.33791524171829224,
                                    0.44070982933044434,
                                    0.56261700391769409,
                                    0.72295683622360229,
                                    1};

// Operands: A, codes of the weights [N * K / 2], the maximum magnitude of each block. The first of
// two codes is in the high four bits of its byte.
Outputs MatMulBnb4(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t inner, context.Int("K"));
  TARTAN_ASSIGN_OR_RETURN(const int64_t outer, context.Int("N"));
  TARTAN_ASSIGN_OR_RETURN(const int64_t block, context.Int("block_size"));
  TARTAN_ASSIGN_OR_RETURN(const int64_t kind, context.Int("quant_type"));
  TARTAN_ASSIGN_OR_RETURN(const int64_t transposed, context.Int("transB", 1));
  constexpr int64_t kMost = int64_t{1} << 31;
  if (inner < 1 || outer < 1 || inner > kMost || outer > kMost || block < 1) {
    return Invalid("weights ", outer, " by ", inner, " in blocks of ", block);
  }
  if (kind != 0 && kind != 1) return Invalid("attribute 'quant_type' is ", kind);
  const int64_t count = inner * outer;
  const int64_t blocks = (count + block - 1) / block;
  const Tensor& codes = context.input(1);
  if (codes.shape().element_count() != (count + 1) / 2 ||
      context.input(2).shape().element_count() != blocks) {
    return Invalid("codes ", codes.shape().ToString(), " and scales ",
                   context.input(2).shape().ToString(), " for ", outer, " by ", inner, " weights");
  }
  const Tensor& a = context.input(0);
  std::vector<std::string> statements = {
      absl::StrCat("BYTES = ", ReshapeCall(Cast("CODES", DataType::kInt32), {(count + 1) / 2, 1})),
      "HALVES = (BYTES >> SHIFT) & 15",
      absl::StrCat("ALL = ", ReshapeCall("HALVES", {(count + 1) / 2 * 2})),
      "VALUES = gather(TABLE, ALL, 0)",
      absl::StrCat(Write("SIZE", {"i"}, {(count + 1) / 2 * 2}), " = =(SCALES[b]), i - ", block,
                   " * b < ", block),
      "REAL = VALUES * SIZE",
      absl::StrCat(Write("W", {"n", "k"}, {outer, inner}), " = =(REAL[", inner, " * n + k])")};
  TARTAN_ASSIGN_OR_RETURN(
      const MatMulText product,
      MatMulStatement("P", "A", a.dims(), "W", Sizes{outer, inner}, false, transposed != 0));
  statements.push_back(product.statement);
  statements.push_back("Y = " + Cast("P", a.type()));
  const absl::Span<const double> table = kind == 0 ? kFloat4 : kNormalFloat4;
  TARTAN_ASSIGN_OR_RETURN(const Tensor scales, Reshape(context, context.input(2), {blocks}));
  return context.Apply(TileFunction("A, CODES, SCALES, TABLE, SHIFT", "Y", statements),
                       {a, codes, scales, ConstantOf(DataType::kFloat32, table, {16}),
                        ConstantOf(DataType::kInt32, std::vector<double>{4, 0}, {2})});
}

// --- Windows and crops

// All windows of 'size' elements along 'dim', each in a new last dimension.
Outputs UnfoldTensor(NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(const int64_t axis, context.Axis("dim", -1, x.rank()));
  TARTAN_ASSIGN_OR_RETURN(const int64_t size, context.Int("size"));
  TARTAN_ASSIGN_OR_RETURN(const int64_t step, context.Int("step", 1));
  const size_t along = static_cast<size_t>(axis);
  if (size < 1 || step < 1 || size > x.dims()[along]) {
    return Invalid("windows of ", size, ", ", step, " elements apart, do not fit dimension ", axis,
                   " of ", x.shape().ToString());
  }
  std::vector<std::string> write = IndexNames(x.rank());
  std::vector<std::string> read = write;
  read[along] = absl::StrCat(step, " * ", write[along], " + s");
  Sizes dims = x.dims();
  dims[along] = (dims[along] - size) / step + 1;
  write.push_back("s");
  dims.push_back(size);
  return context.Apply(TileFunction(
      "X", "Y", {absl::StrCat(Write("Y", write, dims), " = =(", Read("X", read), ")")}));
}

// Adds interpolation weights [regions, places, size] for one axis of a crop, and the mask of places
// inside the picture. Columns `first` and `first` + 2 of R hold the ends of the crop, from 0 to 1.
void AddCropAxis(FunctionText& text, const std::string& name, const std::string& regions,
                 const Sizes& dims, int first, bool is_nearest) {
  const int64_t count = dims[0];
  const int64_t places = dims[1];
  const double last = static_cast<double>(dims[2] - 1);
  for (const auto& [end, column] : {std::pair{"_FROM", first}, std::pair{"_TO", first + 2}}) {
    text.Add(Write(name + end, {"r", "0"}, {count, 1}), "=(", regions, "[r, ", column, "])");
  }
  text.Add(Write(name + "_ALL", {"r", "p"}, {count, places}), "=(", name, "_FROM[r, 0])");
  const std::string span = absl::StrCat("(", name, "_TO - ", name, "_FROM) * ", Literal(last));
  text.Add(name + "_AT",
           places > 1
               ? absl::StrCat(name, "_ALL * ", Literal(last), " + index(", name, "_ALL, 1) * (",
                              span, " / ", Literal(static_cast<double>(places - 1)), ")")
               : absl::StrCat("0.5 * (", name, "_ALL + ", name, "_TO) * ", Literal(last)));
  text.Add(name + "_IN", name, "_AT >= 0 && ", name, "_AT <= ", Literal(last));
  const std::string at = name + "_AT";
  text.Add(name + "_PLACE", ReshapeCall(is_nearest ? absl::StrCat("floor(", at, " + 0.5)") : at,
                                        {count, places, 1}));
  text.Add(Write(name + "_WIDE", {"r", "p", "e"}, dims), "=(", name, "_PLACE[r, p, 0])");
  const std::string distance = absl::StrCat("abs(", name, "_WIDE - index(", name, "_WIDE, 2))");
  text.Add(name + "_W", is_nearest ? absl::StrCat(distance, " == 0 ? 1.0 : 0.0")
                                   : absl::StrCat("max(0, 1 - ", distance, ")"));
}

// Operands: pictures, regions [y1, x1, y2, x2] from 0 to 1, the picture of each region, the crop's
// size.
Outputs CropAndResize(NodeContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& regions = context.input(1);
  TARTAN_ASSIGN_OR_RETURN(const Sizes size, context.HostInts(3));
  TARTAN_ASSIGN_OR_RETURN(const std::string mode,
                          context.OneOf("mode", "bilinear", {"bilinear", "nearest"}));
  TARTAN_ASSIGN_OR_RETURN(const float outside, context.Float("extrapolation_value", 0.0f));
  if (x.rank() != 4 || regions.rank() != 2 || regions.dims()[1] != 4 || size.size() != 2 ||
      size[0] < 1 || size[1] < 1) {
    return Invalid("regions ", regions.shape().ToString(), " of ", x.shape().ToString(), " as ",
                   DimsToString(size));
  }
  const int64_t count = regions.dims()[0];
  TARTAN_RETURN_IF_ERROR(CheckTable({count, size[0], x.dims()[2]}));
  TARTAN_RETURN_IF_ERROR(CheckTable({count, size[1], x.dims()[3]}));
  TARTAN_RETURN_IF_ERROR(context.CheckInput(2, {PlainBounds(x, 0)}, "image"));
  FunctionText text(context);
  const std::string image = text.Operand(0);
  const std::string boxes = text.Operand(1);
  text.Add("PICKED", "gather(", image, ", ", ReshapeCall(text.Operand(2), {count}), ", 0)");
  AddCropAxis(text, "H", boxes, {count, size[0], x.dims()[2]}, 0, mode == "nearest");
  AddCropAxis(text, "W", boxes, {count, size[1], x.dims()[3]}, 1, mode == "nearest");
  const int64_t channels = x.dims()[1];
  text.Add(Write("ROWS", {"r", "c", "p", "w"}, {count, channels, size[0], x.dims()[3]}),
           "+(H_W[r, p, h] * PICKED[r, c, h, w])");
  text.Add(Write("CROP", {"r", "c", "p", "q"}, {count, channels, size[0], size[1]}),
           "+(W_W[r, q, w] * ROWS[r, c, p, w])");
  text.Add("INSIDE", ReshapeCall("H_IN", {count, 1, size[0], 1}), " && ",
           ReshapeCall("W_IN", {count, 1, 1, size[1]}));
  text.Add("Y",
           Cast(absl::StrCat("INSIDE ? CROP : ", Literal(static_cast<double>(outside))), x.type()));
  return text.Apply("Y");
}

// --- Channels last

Outputs NhwcFusedConv(NodeContext& context) {
  for (int i : {0, 3}) {
    if (!context.HasInput(i)) continue;
    TARTAN_ASSIGN_OR_RETURN(Tensor transposed, ChannelsFirst(context, context.input(i)));
    context.SetInput(i, Value(std::move(transposed)));
  }
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> made,
                          FindOperator(kMicrosoftDomain, "FusedConv", 1)->handler(context));
  return OneTensor(ChannelsLast(context, made[0]));
}

Outputs NhwcMaxPool(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(Tensor x, ChannelsFirst(context, context.input(0)));
  context.SetInput(0, Value(std::move(x)));
  constexpr int kOpset = 12;
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> made, ApplyOnnx(context, "MaxPool", kOpset));
  return OneTensor(ChannelsLast(context, made[0]));
}

// --- Words

// Operands: table, positions. The other operands concern training only.
Outputs TorchEmbedding(NodeContext& context) {
  const Tensor& table = context.input(0);
  if (table.rank() < 1) return Invalid("operand 0 is ", table.shape().ToString());
  TARTAN_RETURN_IF_ERROR(context.CheckInput(1, {IndexBounds(table, 0)}));
  return OneTensor(TakeOf(context, table, context.input(1), 0));
}

// Sets scores to -infinity for words that would repeat an n-gram of 'ngram_size' words.
Outputs NGramRepeatBlock(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t size, context.Int("ngram_size"));
  const Tensor& words = context.input(0);
  const Tensor& scores = context.input(1);
  if (words.rank() != 2 || scores.rank() != 2 || words.dims()[0] != scores.dims()[0] || size < 1) {
    return Invalid("words ", words.shape().ToString(), " and scores ", scores.shape().ToString());
  }
  const int64_t batch = words.dims()[0];
  const int64_t length = words.dims()[1];
  const int64_t starts = length - size + 1;
  if (starts < 1) return context.Apply("function (I, S) -> (Y) { Y = S; }");
  const Sizes each = {batch, starts};
  std::vector<std::string> statements = {
      absl::StrCat(Write("NEXT", {"b", "p"}, each), " = =(I[b, p + ", size - 1, "])")};
  if (size == 1) {
    statements.push_back("HIT = NEXT * 0 + 1");
  } else {
    const Sizes pairs = {batch, starts, size - 1};
    statements.push_back(absl::StrCat(Write("HERE", {"b", "p", "d"}, pairs), " = =(I[b, p + d])"));
    statements.push_back(absl::StrCat(Write("LAST", {"b", "0", "d"}, {batch, 1, size - 1}),
                                      " = =(I[b, d + ", starts, "])"));
    statements.push_back("DIFFERS = HERE == LAST ? 0 : 1");
    statements.push_back(absl::StrCat(Write("WRONG", {"b", "p"}, each), " = +(DIFFERS[b, p, d])"));
    statements.push_back("HIT = WRONG == 0 ? 1 : 0");
  }
  statements.push_back(absl::StrCat(Write("COUNT", {"b", "v"}, scores.dims()),
                                    " = +(NEXT[b, p] == V[v] ? HIT[b, p])"));
  statements.push_back("Y = COUNT > 0 ? (-inf()) : S");
  return context.Apply(TileFunction("I, S, V", "Y", statements),
                       {words, scores, Positions(DataType::kInt64, scores.dims()[1])});
}

// Outputs: the unique values in order of appearance, the unique value's index of each element, and
// the counts.
Outputs Unique(NodeContext& context) {
  if (context.input(0).rank() != 1) {
    return Invalid("operand 0 is ", context.input(0).shape().ToString());
  }
  const auto find =
      [](absl::Span<const HostTensor> operands) -> absl::StatusOr<std::vector<HostTensor>> {
    const HostTensor& x = operands[0];
    const size_t width = static_cast<size_t>(ByteWidth(x.type()));
    std::map<std::vector<uint8_t>, int64_t> places;
    std::vector<uint8_t> values;
    Sizes positions;
    Sizes counts;
    for (int64_t i = 0; i < x.element_count(); ++i) {
      const auto first = x.bytes().begin() + i * static_cast<int64_t>(width);
      const std::vector<uint8_t> element(first, first + static_cast<int64_t>(width));
      const auto [found, is_new] = places.emplace(element, counts.size());
      if (is_new) {
        values.insert(values.end(), element.begin(), element.end());
        counts.push_back(0);
      }
      positions.push_back(found->second);
      ++counts[static_cast<size_t>(found->second)];
    }
    const int64_t count = static_cast<int64_t>(counts.size());
    return std::vector<HostTensor>{HostTensor(TensorShape{x.type(), {count}}, values),
                                   HostInts({x.element_count()}, positions),
                                   HostInts({count}, counts)};
  };
  return context.RunOnHost({context.input(0)}, find);
}

constexpr char kEcho[] = "function (X) -> (Y) { Y = X; }";

constexpr OperatorRow kOperators[] = {
    MicrosoftRow("ComplexMul", {2, 2}, ComplexMul),
    MicrosoftRow("CropAndResize", {4, 4}, CropAndResize, HostOperands(3)),
    MicrosoftRow("IsAllFinite", {1, kAnyNumber}, IsAllFinite),
    MicrosoftRow("MatMulBnb4", {3, 3}, MatMulBnb4),
    MicrosoftRow("NGramRepeatBlock", {2, 2}, NGramRepeatBlock),
    MicrosoftRow("NhwcFusedConv", {2, 4}, NhwcFusedConv),
    MicrosoftRow("NhwcMaxPool", {1, 1}, NhwcMaxPool),
    In(kMicrosoftDomain, TileRow("SampleOp", 1, 1, kEcho)),
    MicrosoftRow("TorchEmbedding", {2, 4}, TorchEmbedding),
    MicrosoftRow("UnfoldTensor", {1, 1}, UnfoldTensor),
    MicrosoftRow("Unique", {1, 1}, Unique),
};

}  // namespace

absl::Span<const OperatorRow> MicrosoftElementOperators() { return kOperators; }

}  // namespace tartan::onnx
