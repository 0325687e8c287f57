// SPDX-License-Identifier: Apache-2.0
// Microsoft's operators of recent transformers: gates, branch normalization, hyper-connections
// (mixed residual streams), position biases.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/microsoft/families.h"
#include "frontend/onnx/families/microsoft/operators.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/families/shared/quantization_text.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

constexpr DataType kFloat = DataType::kFloat32;

int64_t CountOf(const Tensor& x) { return x.shape().element_count(); }

// target = `source` / sqrt(mean of squares + epsilon) along the last dimension. `source` has sizes
// `dims`.
void AddRmsNorm(FunctionText& text, const std::string& target, const std::string& source,
                const Sizes& dims, float epsilon) {
  std::vector<std::string> read = IndexNames(static_cast<int64_t>(dims.size()));
  std::vector<std::string> write = read;
  Sizes kept = dims;
  write.back() = "0";
  kept.back() = 1;
  text.Add(target + "_SQUARES", source, " * ", source);
  text.Add(Write(target + "_SUM", write, kept), "+(", Read(target + "_SQUARES", read), ")");
  text.Add(target, source, " / sqrt(", target, "_SUM / ", Literal(static_cast<double>(dims.back())),
           " + ", Literal(static_cast<double>(epsilon)), ")");
}

// The streams of operand 0: [rows, branches, columns], from (…, branches, columns), or from (…,
// branches * columns) with the attribute 'num_branches'.
absl::StatusOr<Sizes> ReadBranches(const NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(int64_t branches, context.Int("num_branches", 0));
  if (x.rank() < (branches > 0 ? 1 : 2)) return Invalid("operand 0 is ", x.shape().ToString());
  int64_t columns = x.dims().back();
  if (branches > 0) {
    if (columns % branches != 0) {
      return Invalid(branches, " branches do not divide ", x.shape().ToString());
    }
    columns /= branches;
  } else {
    branches = x.dims()[static_cast<size_t>(x.rank()) - 2];
  }
  const int64_t row = branches * columns;
  return Sizes{row == 0 ? 0 : CountOf(x) / row, branches, columns};
}

// Operands: streams, scale.
Outputs BranchwiseRmsNorm(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const Sizes dims, ReadBranches(context));
  TARTAN_ASSIGN_OR_RETURN(const float epsilon, context.Float("epsilon", 1e-5f));
  const Tensor& x = context.input(0);
  FunctionText text(context);
  text.Add("X", ReshapeCall(Cast(text.Operand(0), kFloat), dims));
  AddRmsNorm(text, "N", "X", dims, epsilon);
  std::string scaled = "N";
  if (context.HasInput(1)) {
    const int64_t count = CountOf(context.input(1));
    if (count != dims[2] && count != dims[1] * dims[2]) {
      return Invalid("operand 1 is ", context.input(1).shape().ToString(), " for ",
                     DimsToString(dims));
    }
    const std::string scale = ReshapeCall(Cast(text.Operand(1), kFloat),
                                          {count / std::max<int64_t>(dims[2], 1), dims[2]});
    absl::StrAppend(&scaled, " * ", scale);
  }
  text.Add("S", scaled);
  text.Add("Y", Cast(ReshapeCall("S", x.dims()), x.type()));
  return text.Apply("Y");
}

// Operands: X, a summand, its gate. The gated summand is rounded first.
Outputs GatedAdd(NodeContext& context) {
  const DataType type = context.input(0).type();
  return context.Apply(
      TileFunction("X, A, G", "Y", {absl::StrCat("P = ", Cast("A * G", type)), "Y = X + P"}));
}

// Operands: X, scale, gate.
Outputs GatedRmsNorm(NodeContext& context) {
  const Tensor& x = context.input(0);
  const int64_t columns = CountOf(context.input(1));
  TARTAN_ASSIGN_OR_RETURN(const float epsilon, context.Float("epsilon", 1e-5f));
  TARTAN_ASSIGN_OR_RETURN(const std::string activation,
                          context.OneOf("activation", "silu", {"silu", "swish", "sigmoid"}));
  if (x.rank() < 1 || columns < 1 || x.dims().back() % columns != 0) {
    return Invalid("operand 1 is ", context.input(1).shape().ToString(), " for ",
                   x.shape().ToString());
  }
  TARTAN_RETURN_IF_ERROR(context.CheckDims(2, x.dims()));
  const Sizes dims = {CountOf(x) / columns, columns};
  FunctionText text(context);
  text.Add("X", ReshapeCall(Cast(text.Operand(0), kFloat), dims));
  AddRmsNorm(text, "N", "X", dims, epsilon);
  text.Add("SCALE", Cast(ReshapeCall(text.Operand(1), {columns}), kFloat));
  text.Add("G", ReshapeCall(Cast(text.Operand(2), kFloat), dims));
  text.Add("S", activation == "sigmoid" ? "N * SCALE * sigmoid(G)" : "N * SCALE * G * sigmoid(G)");
  text.Add("Y", Cast(ReshapeCall("S", x.dims()), x.type()));
  return text.Apply("Y");
}

// silu(X * scale), rounded after each step. Operands: X, scale.
Outputs ScaledSilu(NodeContext& context) {
  const DataType type = context.input(0).type();
  TARTAN_ASSIGN_OR_RETURN(const float alpha, context.Float("alpha", 1.0f));
  FunctionText text(context);
  const std::string x = Cast(text.Operand(0), kFloat);
  const std::string scale =
      context.HasInput(1) ? Cast(ReshapeCall(text.Operand(1), {}), kFloat) : Literal(alpha);
  text.Add("Z", Cast(absl::StrCat(x, " * ", scale), type));
  text.Add("S", Cast("sigmoid(Z)", type));
  text.Add("Y", Cast("Z * S", type));
  return text.Apply("Y");
}

// Operands: keys and queries [batch, positions, branches, size], values [batch, positions, size],
// norm scales of keys, queries and results, each [branches, size].
Outputs EngramGate(NodeContext& context) {
  const Tensor& key = context.input(0);
  if (key.rank() != 4) return Invalid("operand 0 is ", key.shape().ToString());
  const Sizes& dims = key.dims();
  const Sizes scales = {dims[2], dims[3]};
  TARTAN_RETURN_IF_ERROR(context.CheckDims(1, dims));
  TARTAN_RETURN_IF_ERROR(context.CheckDims(2, {dims[0], dims[1], dims[3]}));
  for (int i : {3, 4}) TARTAN_RETURN_IF_ERROR(context.CheckDims(i, scales));
  TARTAN_ASSIGN_OR_RETURN(const float epsilon, context.Float("epsilon", 1e-5f));
  FunctionText text(context);
  text.Add("K", Cast(text.Operand(0), kFloat));
  text.Add("Q", Cast(text.Operand(1), kFloat));
  text.Add("V", ReshapeCall(Cast(text.Operand(2), kFloat), {dims[0], dims[1], 1, dims[3]}));
  AddRmsNorm(text, "KN", "K", dims, epsilon);
  AddRmsNorm(text, "QN", "Q", dims, epsilon);
  text.Add("KS", "KN * ", text.Operand(3));
  text.Add("QS", "QN * ", text.Operand(4));
  const Sizes rows = {dims[0], dims[1], dims[2], 1};
  text.Add(Write("PRODUCT", {"b", "s", "m", "0"}, rows), "+(KS[b, s, m, h] * QS[b, s, m, h])");
  text.Add("DOT", "PRODUCT / ", Literal(std::sqrt(static_cast<double>(dims[3]))));
  text.Add("ROOT", "sqrt(max(abs(DOT), 0.000001))");
  text.Add("GATE", "sigmoid(DOT < 0 ? -ROOT : (DOT > 0 ? ROOT : 0))");
  text.Add("GATED", "GATE * V");
  text.Add("Y", Cast("GATED", key.type()));
  if (!context.WantsOutput(1)) return text.Apply("Y");
  if (!context.HasInput(5)) return Invalid("output 1 needs operand 5, its scale");
  TARTAN_RETURN_IF_ERROR(context.CheckDims(5, scales));
  AddRmsNorm(text, "GN", "GATED", dims, epsilon);
  text.Add("NORMED", Cast(absl::StrCat("GN * ", text.Operand(5)), key.type()));
  return text.Apply("Y, NORMED");
}

// Operand `i`, a gate per branch or per element, as float32 text that broadcasts to [rows,
// branches, columns].
absl::StatusOr<std::string> BranchGate(FunctionText& text, int i, const Sizes& dims) {
  const Tensor& gate = text.context().input(i);
  const int64_t rows = dims[0] * dims[1];
  if (CountOf(gate) != rows && CountOf(gate) != rows * dims[2]) {
    return Invalid("operand ", i, " is ", gate.shape().ToString(), " for ", DimsToString(dims));
  }
  const bool has_columns = CountOf(gate) != rows;
  return ReshapeCall(Cast(text.Operand(i), kFloat), {dims[0], dims[1], has_columns ? dims[2] : 1});
}

// The sum of the branches, weighted by their gates. Operands: streams, gates.
Outputs HyperConnectionPreMix(NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(const Sizes dims, ReadBranches(context));
  TARTAN_ASSIGN_OR_RETURN(const float scale, context.Float("reduction_scale", 1.0f));
  TARTAN_ASSIGN_OR_RETURN(const int64_t branches, context.Int("num_branches", 0));
  Sizes result(x.dims().begin(), x.dims().end() - (branches > 0 ? 1 : 2));
  result.push_back(dims[2]);
  FunctionText text(context);
  text.Add("X", ReshapeCall(Cast(text.Operand(0), kFloat), dims));
  TARTAN_ASSIGN_OR_RETURN(const std::string gate, BranchGate(text, 1, dims));
  text.Add("GATED", "X * ", gate);
  text.Add(Write("SUM", {"r", "h"}, {dims[0], dims[2]}), "+(GATED[r, c, h])");
  text.Add("SCALED", "SUM * ", Literal(static_cast<double>(scale)));
  text.Add("Y", Cast(ReshapeCall("SCALED", result), x.type()));
  return text.Apply("Y");
}

// Operands: streams, the block's result, its gates, the mixing matrix of the streams.
Outputs HyperConnectionPostMix(NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(const Sizes dims, ReadBranches(context));
  if (CountOf(context.input(1)) != dims[0] * dims[2]) {
    return Invalid("operand 1 is ", context.input(1).shape().ToString(), " for ",
                   DimsToString(dims));
  }
  FunctionText text(context);
  text.Add("X", ReshapeCall(Cast(text.Operand(0), kFloat), dims));
  text.Add("BLOCK", ReshapeCall(Cast(text.Operand(1), kFloat), {dims[0], 1, dims[2]}));
  TARTAN_ASSIGN_OR_RETURN(const std::string gate, BranchGate(text, 2, dims));
  std::string mixed = "X";
  if (context.HasInput(3)) {
    const Sizes square = {dims[0], dims[1], dims[1]};
    if (CountOf(context.input(3)) != square[0] * square[1] * square[2]) {
      return Invalid("operand 3 is ", context.input(3).shape().ToString(), " for ",
                     DimsToString(dims));
    }
    text.Add("MIX", ReshapeCall(Cast(text.Operand(3), kFloat), square));
    text.Add(Write("MIXED", {"r", "k", "h"}, dims), "+(MIX[r, c, k] * X[r, c, h])");
    mixed = "MIXED";
  }
  text.Add("SUM", mixed, " + ", gate, " * BLOCK");
  text.Add("Y", Cast(ReshapeCall("SUM", x.dims()), x.type()));
  return text.Apply("Y");
}

// Operands: decay gates [batch, positions, heads], their bias and scale per head, update rates.
Outputs LinearAttentionGate(NodeContext& context) {
  const DataType type = context.input(0).type();
  FunctionText text(context);
  text.Add("A", Cast(text.Operand(0), kFloat));
  text.Add("Z", "A + ", text.Operand(1));
  text.Add("SOFT", "max(Z, 0) + log1p(exp(-abs(Z)))");
  text.Add("D", Cast(absl::StrCat(text.Operand(2), " * SOFT"), type));
  if (!context.WantsOutput(1)) return text.Apply("D");
  if (!context.HasInput(3)) return Invalid("output 1 needs operand 3, the update rates");
  text.Add("B", Cast(absl::StrCat("sigmoid(", Cast(text.Operand(3), kFloat), ")"), type));
  return text.Apply("D, B");
}

// Operands: query [batch, positions, heads * size], its bias, the position bias [1, heads, queries,
// keys], weights [size, gates], their bias, one number per head.
Outputs GatedRelativePositionBias(NodeContext& context) {
  TARTAN_RETURN_IF_ERROR(RefuseOperands(context, {6}));
  TARTAN_ASSIGN_OR_RETURN(const int64_t heads, context.Int("num_heads"));
  const Tensor& query = context.input(0);
  const Tensor& weights = context.input(3);
  if (query.rank() != 3 || weights.rank() != 2 || heads < 1 ||
      query.dims()[2] != heads * weights.dims()[0] || weights.dims()[1] % 2 != 0) {
    return Invalid("query ", query.shape().ToString(), " and weights ", weights.shape().ToString(),
                   " for ", heads, " heads");
  }
  const Sizes split = {query.dims()[0], query.dims()[1], heads, weights.dims()[0]};
  const int64_t gates = weights.dims()[1];
  const Sizes each = {split[0], heads, split[1], 1};
  FunctionText text(context);
  text.Add("Q", text.Operand(0), " + ", text.Operand(1));
  text.Add("HEADS", ReshapeCall("Q", split));
  text.Add(Write("P", {"b", "n", "s", "d"}, {split[0], heads, split[1], gates}),
           "+(HEADS[b, s, n, h] * ", text.Operand(3), "[h, d])");
  text.Add("GATES", "P + ", text.Operand(4));
  text.Add(Write("U", {"b", "n", "s", "0"}, each), "+(GATES[b, n, s, d]), d < ", gates / 2);
  text.Add(Write("R", {"b", "n", "s", "0"}, each), "+(GATES[b, n, s, d + ", gates / 2, "]), d < ",
           gates / 2);
  text.Add("FACTOR", "sigmoid(U) * (sigmoid(R) * ", text.Operand(5), " - 1) + 2");
  text.Add("Y", Cast(absl::StrCat("FACTOR * ", text.Operand(2)), query.type()));
  return text.Apply("Y");
}

// Operands: angles [batch, positions, size], query, half-rotated query, key, half-rotated key.
constexpr char kGemmaRotation[] = R"(
function (E[B, S, D], Q, QR, K, KR) -> (QY, KY) {
  SINE = as_float(sin(E), 16);
  COSINE = as_float(cos(E), 16);
  SINES = reshape(SINE, B, 1, S, D);
  COSINES = reshape(COSINE, B, 1, S, D);
  QY = as_float(Q * COSINES + QR * SINES, 16);
  KY = as_float(K * COSINES + KR * SINES, 16);
}
)";

// Softmax of data plus bias, over all dimensions from 'axis' on.
Outputs BiasSoftmax(NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(const int64_t axis, context.Axis("axis", 1, x.rank()));
  TARTAN_ASSIGN_OR_RETURN(const int64_t is_inner, context.Int("is_inner_broadcast"));
  int64_t columns = 1;
  for (int64_t d = axis; d < x.rank(); ++d) columns *= x.dims()[static_cast<size_t>(d)];
  const int64_t rows = columns == 0 ? 0 : CountOf(x) / columns;
  const int64_t biases = columns == 0 ? 0 : CountOf(context.input(1)) / columns;
  if (biases == 0 || rows % biases != 0 || CountOf(context.input(1)) != biases * columns) {
    return Invalid("a bias ", context.input(1).shape().ToString(), " for ", x.shape().ToString());
  }
  const Sizes apart =
      is_inner != 0 ? Sizes{biases, rows / biases, columns} : Sizes{rows / biases, biases, columns};
  const Sizes bias = is_inner != 0 ? Sizes{biases, 1, columns} : Sizes{1, biases, columns};
  const Sizes each = {apart[0], apart[1], 1};
  FunctionText text(context);
  text.Add("D", ReshapeCall(text.Operand(0), apart));
  text.Add("Z", "D + ", ReshapeCall(text.Operand(1), bias));
  text.Add(Write("M", {"a", "r", "0"}, each), ">(Z[a, r, c])");
  text.Add("E", "exp(Z - M)");
  text.Add(Write("S", {"a", "r", "0"}, each), "+(E[a, r, c])");
  text.Add("P", "E / S");
  text.Add("Y", Cast(ReshapeCall("P", x.dims()), x.type()));
  return text.Apply("Y");
}

constexpr OperatorRow kOperators[] = {
    MicrosoftRow("BiasSoftmax", {2, 2}, BiasSoftmax),
    MicrosoftRow("BranchwiseRMSNorm", {1, 2}, BranchwiseRmsNorm),
    MicrosoftRow("EngramGate", {5, 6}, EngramGate),
    MicrosoftRow("GatedAdd", {3, 3}, GatedAdd),
    MicrosoftRow("GatedRMSNorm", {3, 3}, GatedRmsNorm),
    MicrosoftRow("GatedRelativePositionBias", {6, 7}, GatedRelativePositionBias),
    In(kMicrosoftDomain, TileRow("GemmaRotaryEmbedding", 1, 5, kGemmaRotation)),
    MicrosoftRow("HyperConnectionPostMix", {3, 4}, HyperConnectionPostMix),
    MicrosoftRow("HyperConnectionPreMix", {2, 2}, HyperConnectionPreMix),
    MicrosoftRow("LinearAttentionGate", {3, 4}, LinearAttentionGate),
    MicrosoftRow("ScaledSiLU", {1, 2}, ScaledSilu),
};

}  // namespace

absl::Span<const OperatorRow> MicrosoftGateOperators() { return kOperators; }

}  // namespace tartan::onnx
