// SPDX-License-Identifier: Apache-2.0
// Microsoft's transformer operators apart from attention: embeddings, activations with a bias,
// matmuls with quantized weights, and ONNX's operators with a fused activation.
#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "frontend/onnx/families/microsoft/blocked_weights.h"
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

// The operator set of ONNX whose forms these operators share.
constexpr int kOnnxForm = 13;

// --- Activations

constexpr char kGelu[] = "0.5 * Z * (1 + erf(Z * 0.70710678118654752))";  // 1/sqrt(2)
constexpr char kFastGelu[] = "0.5 * Z * (1 + tanh(Z * (0.7978845608 + 0.035677408 * Z * Z)))";

// `value` in terms of Z, which is operand 0 plus the optional operand 1.
Outputs MapSum(NodeContext& context, absl::string_view value) {
  FunctionText text(context);
  std::string sum = text.Operand(0);
  if (context.HasInput(1)) absl::StrAppend(&sum, " + ", text.Operand(1));
  text.Add("Z", sum);
  text.Add("Y", Cast(value, context.input(0).type()));
  return text.Apply("Y");
}

Outputs Gelu(NodeContext& context) { return MapSum(context, kGelu); }
Outputs FastGelu(NodeContext& context) { return MapSum(context, kFastGelu); }

Outputs QuickGelu(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const float alpha, context.Float("alpha", 1.702f));
  return MapSum(context, absl::Substitute("Z * sigmoid($0 * Z)", Literal(alpha)));
}

// The first half of the last dimension times the Gelu of the second half.
Outputs BiasSplitGelu(NodeContext& context) {
  const Tensor& x = context.input(0);
  if (x.rank() < 1 || x.dims().back() % 2 != 0) {
    return Invalid("cannot halve the last dimension of ", x.shape().ToString());
  }
  const std::vector<std::string> indices = IndexNames(x.rank());
  std::vector<int64_t> dims = x.dims();
  dims.back() /= 2;
  std::vector<std::string> behind = indices;
  behind.back() = absl::StrCat(indices.back(), " + ", dims.back());
  FunctionText text(context);
  const std::string sum = text.Operand(0);
  text.Add("SUM", sum, " + ", text.Operand(1));
  text.Add(Write("LEFT", indices, dims), "=(", Read("SUM", indices), ")");
  text.Add(Write("Z", indices, dims), "=(", Read("SUM", behind), ")");
  text.Add("Y", Cast(absl::StrCat("LEFT * (", kGelu, ")"), x.type()));
  return text.Apply("Y");
}

// Operands: X [batch, positions, channels], bias [channels], a second summand.
constexpr char kBiasAdd[] = "function (X, B, SKIP) -> (Y) { Y = X + B + SKIP; }";

Outputs GemmFastGelu(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(
      const MatMulText product,
      MatMulStatement("P", "X0", context.input(0).dims(), "X1", context.input(1).dims()));
  FunctionText text(context);
  text.Operand(0);
  text.Operand(1);
  text.Add(product.statement);
  text.Add("Z", context.HasInput(2) ? absl::StrCat("P + ", text.Operand(2)) : "P");
  text.Add("Y", Cast(kFastGelu, context.input(0).type()));
  return text.Apply("Y");
}

// The text in terms of Z of a fused activation, with parameters $0 and $1.
struct FollowingActivation {
  const char* name;
  const char* text;
  double first = 0;  // default of the first parameter
  double second = 0;
};

constexpr FollowingActivation kFollowing[] = {
    {"Clip", "max(min(Z, $1), $0)", -std::numeric_limits<float>::max(),
     std::numeric_limits<float>::max()},
    {"Elu", "Z < 0 ? $0 * expm1(Z) : Z", 1},
    {"HardSigmoid", "max(0, min(1, $0 * Z + $1))", 0.2, 0.5},
    {"HardSwish", "Z * max(0, min(1, Z / 6 + 0.5))"},
    {"LeakyRelu", "Z < 0 ? $0 * Z : Z", 0.01},
    {"Relu", "relu(Z)"},
    {"Sigmoid", "sigmoid(Z)"},
    {"Softplus", "max(Z, 0) + log1p(exp(-abs(Z)))"},
    {"Softsign", "Z / (1 + abs(Z))"},
    {"Tanh", "tanh(Z)"},
    {"ThresholdedRelu", "Z > $0 ? Z : 0", 1},
};

// Applies an activation to `x` plus `added` (if defined). An empty name means no activation.
Outputs Follow(const NodeContext& context, const Tensor& x, const Tensor& added,
               const std::string& name, const std::vector<float>& parameters) {
  std::string value = "Z";
  if (!name.empty()) {
    const auto* const found =
        std::find_if(std::begin(kFollowing), std::end(kFollowing),
                     [&](const FollowingActivation& form) { return form.name == name; });
    if (found == std::end(kFollowing)) return Unsupported("activation '", name, "'");
    const double first = parameters.empty() ? found->first : parameters[0];
    const double second = parameters.size() < 2 ? found->second : parameters[1];
    value = absl::Substitute(found->text, Literal(first), Literal(second));
  }
  std::vector<Tensor> operands = {x};
  if (added.defined()) operands.push_back(added);
  return context.Apply(TileFunction(added.defined() ? "X, A" : "X", "Y",
                                    {added.defined() ? "Z = X + A" : "Z = X",
                                     absl::StrCat("Y = ", Cast(value, x.type()))}),
                       operands);
}

Outputs FusedConv(NodeContext& context) {
  const Tensor added = context.value(3).tensor();
  if (added.defined()) context.SetInput(3, Value());
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> made, ApplyOnnx(context, "Conv", kOnnxForm));
  TARTAN_ASSIGN_OR_RETURN(const std::string name, context.String("activation", ""));
  std::vector<float> parameters;
  if (context.HasAttribute("activation_params")) {
    TARTAN_ASSIGN_OR_RETURN(parameters, context.Floats("activation_params"));
  }
  return Follow(context, made[0], added, name, parameters);
}

Outputs FollowedByAttributes(NodeContext& context, const Tensor& y) {
  TARTAN_ASSIGN_OR_RETURN(const std::string name, context.String("activation", ""));
  std::vector<float> parameters;
  for (const char* parameter : {"activation_alpha", "activation_beta"}) {
    if (!context.HasAttribute(parameter)) break;
    TARTAN_ASSIGN_OR_RETURN(parameters.emplace_back(), context.Float(parameter));
  }
  return Follow(context, y, Tensor(), name, parameters);
}

Outputs FusedGemm(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> made, ApplyOnnx(context, "Gemm", kOnnxForm));
  return FollowedByAttributes(context, made[0]);
}

Outputs FusedMatMulActivation(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> made,
                          FindOperator(kMicrosoftDomain, "FusedMatMul", 1)->handler(context));
  return FollowedByAttributes(context, made[0]);
}

// --- Embedding

// Checks that the ids of words, segments and positions are rows of their tables.
absl::Status CheckEmbedded(NodeContext& context) {
  for (const auto& [numbers, table] : {std::pair(0, 2), std::pair(1, 4), std::pair(8, 3)}) {
    if (!context.HasInput(numbers)) continue;
    if (context.input(table).rank() != 2) {
      return Invalid("operand ", table, " is ", context.input(table).shape().ToString());
    }
    TARTAN_RETURN_IF_ERROR(context.CheckInput(numbers, {PlainBounds(context.input(table), 0)}));
  }
  const int64_t words = context.input(0).dims()[1];
  const int64_t rows = context.input(3).rank() == 2 ? context.input(3).dims()[0] : words;
  if (context.HasInput(8) || words <= rows) return absl::OkStatus();
  return Invalid(words, " words in a sequence, but the table of positions has ", rows);
}

// Operands: words, segments, tables of words, positions and segments, gamma, beta, mask, positions.
Outputs EmbedLayerNormalization(NodeContext& context) {
  for (int i : {2, 3, 5, 6}) {
    if (!context.HasInput(i)) return Invalid("operand ", i, " is missing");
  }
  const Tensor& words = context.input(0);
  const Tensor& table = context.input(2);
  if (words.rank() != 2 || table.rank() != 2) {
    return Invalid("words ", words.shape().ToString(), " and a table ", table.shape().ToString());
  }
  if (context.HasInput(1) != context.HasInput(4))
    return Invalid("segment ids and their table must be given together");
  const std::vector<int64_t> dims = {words.dims()[0], words.dims()[1], table.dims()[1]};
  TARTAN_ASSIGN_OR_RETURN(const float epsilon, context.Float("epsilon", 1e-12f));
  TARTAN_RETURN_IF_ERROR(CheckEmbedded(context));
  FunctionText text(context);
  text.Add("WORDS", text.Operand(0));
  text.Add("SUMWORDS", "gather(", text.Operand(2), ", WORDS, 0)");
  const std::string positions = text.Operand(3);
  // Positions default to those in the sequence.
  text.Add("AT", context.HasInput(8) ? text.Operand(8) : "index(WORDS, 1)");
  text.Add("SUMPOSITIONS", "SUMWORDS + gather(", positions, ", AT, 0)");
  std::string sum = "SUMPOSITIONS";
  if (context.HasInput(1)) {
    absl::StrAppend(&sum, " + gather(", text.Operand(4), ", ", text.Operand(1), ", 0)");
  }
  text.Add("X", sum);
  for (std::string& statement : StandardizeStatements("X", dims, {2}, epsilon)) {
    text.Add(std::move(statement));
  }
  text.Add("Y",
           Cast(absl::StrCat("NORM * ", text.Operand(5), " + ", text.Operand(6)), table.type()));
  // The number of words per sample that the mask includes.
  text.Add("COUNTED", context.HasInput(7)
                          ? Cast(absl::StrCat(text.Operand(7), " == 1"), DataType::kInt32)
                          : "WORDS * 0");
  text.Add("INTS", Cast("COUNTED", DataType::kInt32));
  text.Add(DropStatement("COUNT", '+', "INTS", words.dims(), {1}));
  return text.Apply("Y, COUNT, X");
}

// --- Quantized weights

// Operands: A, B, scales, zero points, group indices, bias.
absl::StatusOr<BlockedWeights> ReadBlockedWeights(const NodeContext& context) {
  BlockedWeights weights;
  TARTAN_ASSIGN_OR_RETURN(weights.inner, context.Int("K"));
  TARTAN_ASSIGN_OR_RETURN(weights.outer, context.Int("N"));
  TARTAN_ASSIGN_OR_RETURN(weights.bits, context.Int("bits", 4));
  TARTAN_ASSIGN_OR_RETURN(weights.block, context.Int("block_size"));
  TARTAN_ASSIGN_OR_RETURN(const int64_t prepacked, context.Int("weight_prepacked", 0));
  if (prepacked != 0) return Unsupported("attribute 'weight_prepacked' is ", prepacked);
  if (weights.bits != 2 && weights.bits != 4 && weights.bits != 8) {
    return Unsupported("weights of ", weights.bits, " bits");
  }
  const bool is_block = weights.block >= 16 && (weights.block & (weights.block - 1)) == 0;
  if (!is_block || weights.inner < 1 || weights.outer < 1) {
    return Invalid("weights ", weights.inner, " by ", weights.outer, " in blocks of ",
                   weights.block);
  }
  if (context.HasInput(4) &&
      context.input(4).shape().element_count() != weights.blocks() * weights.block) {
    return Invalid("positions of groups ", context.input(4).shape().ToString(), " for ",
                   weights.blocks(), " blocks of ", weights.block);
  }
  const Tensor& a = context.input(0);
  if (a.rank() < 1 || a.dims().back() != weights.inner) {
    return Invalid("operand 0 is ", a.shape().ToString(), ", expected rows of ", weights.inner);
  }
  const int64_t scales = weights.outer * weights.blocks();
  if (context.input(1).shape().element_count() != scales * weights.block_bytes() ||
      context.input(2).shape().element_count() != scales) {
    return Invalid("weights ", context.input(1).shape().ToString(), " and scales ",
                   context.input(2).shape().ToString(), " for ", weights.outer, " rows of ",
                   weights.blocks(), " blocks");
  }
  return weights;
}

// A times the transposed weights, which have one scale and one zero point per block along the rows.
// Kernels read a repacked copy of the low-precision weights in streaming order.
Outputs MatMulNBits(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const BlockedWeights weights, ReadBlockedWeights(context));
  const Tensor& a = context.input(0);
  FunctionText text(context);
  const std::string rows = text.Operand(0);
  TARTAN_RETURN_IF_ERROR(AddBlockedWeights(text, weights));
  std::vector<std::string> indices = IndexNames(a.rank() - 1);
  std::vector<int64_t> dims(a.dims().begin(), a.dims().end() - 1);
  std::vector<std::string> read = indices;
  read.push_back(absl::StrCat(weights.block, " * b + ", weights.parts(), " * m + p"));
  std::vector<std::string> written = indices;
  std::vector<int64_t> tiles = dims;
  written.insert(written.end(), {"t", "l"});
  tiles.insert(tiles.end(), {weights.tiles(), weights.width()});
  text.Add(Write("T", written, tiles), "+(", Read(rows, read), " * W[t, b, m, p, l])");
  dims.push_back(weights.tiles() * weights.width());
  text.Add("P", ReshapeCall("T", dims));
  if (dims.back() != weights.outer) {
    dims.back() = weights.outer;
    indices.push_back("n");
    text.Add(Write("C", indices, dims), "=(", Read("P", indices), ")");
  } else {
    text.Add("C", "P");
  }
  const std::string sum = context.HasInput(5) ? absl::StrCat("C + ", text.Operand(5)) : "C";
  text.Add("Y", Cast(sum, a.type()));
  return text.Apply("Y");
}

constexpr OperatorRow kOperators[] = {
    In(kMicrosoftDomain, TileRow("BiasAdd", 1, 3, kBiasAdd)),
    MicrosoftRow("BiasGelu", {2, 2}, Gelu),
    MicrosoftRow("BiasSplitGelu", {2, 2}, BiasSplitGelu),
    MicrosoftRow("EmbedLayerNormalization", {1, 9}, EmbedLayerNormalization),
    MicrosoftRow("FastGelu", {1, 2}, FastGelu),
    MicrosoftRow("FusedConv", {2, 4}, FusedConv),
    MicrosoftRow("FusedGemm", {2, 3}, FusedGemm),
    MicrosoftRow("FusedMatMulActivation", {2, 2}, FusedMatMulActivation),
    MicrosoftRow("Gelu", {1, 1}, Gelu),
    MicrosoftRow("GemmFastGelu", {2, 3}, GemmFastGelu),
    MicrosoftRow("MatMulNBits", {3, 6}, MatMulNBits),
    MicrosoftRow("QuickGelu", {1, 1}, QuickGelu),
};

}  // namespace

absl::Span<const OperatorRow> MicrosoftTransformerOperators() { return kOperators; }

}  // namespace tartan::onnx
