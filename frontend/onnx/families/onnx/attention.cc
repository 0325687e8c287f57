// SPDX-License-Identifier: Apache-2.0
// ONNX's attention operators and related ones of transformers: rotary position embedding and the
// key/value cache.
#include "frontend/onnx/families/shared/attention.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/families/shared/rotation.h"
#include "frontend/onnx/tile_text/reduction_text.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// Positions of the operands: Q, K, V, mask, past key, past value, lengths.
constexpr int kMask = 3;
constexpr int kPastKey = 4;
constexpr int kPastValue = 5;
constexpr int kLengths = 6;

// Concatenates the operand `past`, if present, and `x`, both [batch, heads, positions, size].
absl::StatusOr<Tensor> Continue(const NodeContext& context, int past, const Tensor& x) {
  if (!context.HasInput(past)) return x;
  const Tensor& before = context.input(past);
  bool fits = before.rank() == 4;
  for (size_t d : {0, 1, 3}) fits = fits && before.dims()[d] == x.dims()[d];
  if (!fits) {
    return Invalid("operand ", past, " is ", before.shape().ToString(), ", which cannot precede ",
                   x.shape().ToString());
  }
  return ConcatOf(context, {before, x}, 2);
}

absl::Status ReadHeads(const NodeContext& context, AttentionCall* call) {
  const int64_t rank = context.input(0).rank();
  for (int i = 0; i < 3; ++i) {
    if (context.input(i).rank() == rank && (rank == 3 || rank == 4)) continue;
    return Invalid("operand ", i,
                   ": expected three or four dimensions, as many as operand 0 has, got ",
                   context.input(i).shape().ToString());
  }
  call->query = context.input(0);
  call->key = context.input(1);
  call->value = context.input(2);
  if (rank == 3) {
    TARTAN_ASSIGN_OR_RETURN(const int64_t heads, context.Int("q_num_heads"));
    TARTAN_ASSIGN_OR_RETURN(const int64_t key_heads, context.Int("kv_num_heads"));
    TARTAN_ASSIGN_OR_RETURN(call->query, SplitHeads(context, call->query, heads));
    TARTAN_ASSIGN_OR_RETURN(call->key, SplitHeads(context, call->key, key_heads));
    TARTAN_ASSIGN_OR_RETURN(call->value, SplitHeads(context, call->value, key_heads));
    call->joins_heads = true;
  }
  if (context.HasInput(kPastKey) != context.HasInput(kPastValue)) {
    return Invalid("past key and past value must be given together");
  }
  if (context.HasInput(kPastKey)) {
    if (context.HasInput(kLengths)) return Invalid("lengths and a past exclude each other");
    call->offset = context.input(kPastKey).rank() == 4 ? context.input(kPastKey).dims()[2] : 0;
  }
  TARTAN_ASSIGN_OR_RETURN(call->key, Continue(context, kPastKey, call->key));
  TARTAN_ASSIGN_OR_RETURN(call->value, Continue(context, kPastValue, call->value));
  return absl::OkStatus();
}

absl::Status ReadMasks(NodeContext& context, AttentionCall* call) {
  if (context.HasInput(kMask)) {
    const Tensor& mask = context.input(kMask);
    (mask.type() == DataType::kBool ? call->visible : call->bias) = mask;
  }
  if (context.HasInput(kLengths)) {
    TARTAN_RETURN_IF_ERROR(
        context.CheckInput(kLengths, {{0, call->key.dims()[2], "the keys"}}, "length"));
    call->lengths = context.input(kLengths);
    TARTAN_ASSIGN_OR_RETURN(
        call->offsets,
        context.ApplyOne(TileFunction("N", "O", {absl::StrCat("O = N - ", call->query.dims()[2])}),
                         {call->lengths}));
  }
  TARTAN_ASSIGN_OR_RETURN(call->left, context.Int("left_window_size", -1));
  TARTAN_ASSIGN_OR_RETURN(call->right, context.Int("right_window_size", -1));
  if (call->left < -1 || call->right < -1) {
    return Invalid("a window of ", call->left, " and ", call->right, " keys");
  }
  TARTAN_ASSIGN_OR_RETURN(const int64_t is_causal, context.Int("is_causal", 0));
  if (is_causal != 0) call->right = 0;
  return absl::OkStatus();
}

absl::Status ReadArithmetic(const NodeContext& context, AttentionCall* call) {
  const double size = static_cast<double>(call->query.dims()[3]);
  call->scale = 1 / std::sqrt(size);
  if (context.HasAttribute("scale")) {
    TARTAN_ASSIGN_OR_RETURN(call->scale, context.Float("scale"));
  }
  TARTAN_ASSIGN_OR_RETURN(call->softcap, context.Float("softcap", 0.0f));
  if (context.HasAttribute("softmax_precision")) {
    TARTAN_ASSIGN_OR_RETURN(call->softmax_type.emplace(), context.Type("softmax_precision"));
    if (!IsFloat(*call->softmax_type)) {
      return Invalid("attribute 'softmax_precision' is not a float type");
    }
  }
  return absl::OkStatus();
}

Outputs Attention(NodeContext& context) {
  AttentionCall call;
  TARTAN_RETURN_IF_ERROR(ReadHeads(context, &call));
  TARTAN_RETURN_IF_ERROR(ReadMasks(context, &call));
  TARTAN_RETURN_IF_ERROR(ReadArithmetic(context, &call));
  if (call.query.type() == DataType::kBFloat16) call.step_type = DataType::kBFloat16;
  if (context.WantsOutput(3)) {
    TARTAN_ASSIGN_OR_RETURN(const int64_t mode, context.Int("qk_matmul_output_mode", 0));
    constexpr ScoreStage kStages[] = {ScoreStage::kScaled, ScoreStage::kCapped, ScoreStage::kMasked,
                                      ScoreStage::kProbabilities};
    if (mode < 0 || mode > 3) return Invalid("attribute 'qk_matmul_output_mode' is ", mode);
    call.stage = kStages[mode];
  }
  TARTAN_ASSIGN_OR_RETURN(const AttentionResult result, Attend(context, call));
  std::vector<Tensor> outputs = {result.output, call.key, call.value};
  if (result.scores.defined()) outputs.push_back(result.scores);
  return outputs;
}

// Applies the subgraph in an attribute to `x`, which keeps its shape. Without the attribute it
// returns `x`.
absl::StatusOr<Tensor> Modify(NodeContext& context, const char* attribute, const Tensor& x) {
  if (!context.HasAttribute(attribute)) return x;
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Value> made, context.ImportSubgraph(attribute, {x}));
  if (made.size() != 1 || !made[0].is_tensor() || made[0].tensor().shape() != x.shape()) {
    return Invalid("attribute '", attribute, "' does not give one tensor ", x.shape().ToString());
  }
  return made[0].tensor();
}

// Attention whose scores and probabilities are modified by subgraphs of the node.
Outputs FlexAttention(NodeContext& context) {
  AttentionCall call;
  call.query = context.input(0);
  call.key = context.input(1);
  call.value = context.input(2);
  if (call.query.rank() != 4) {
    return Invalid("the query is ", call.query.shape().ToString(), ", not of rank 4");
  }
  TARTAN_RETURN_IF_ERROR(ReadArithmetic(context, &call));
  const DataType widest =
      call.query.type() == DataType::kFloat64 ? DataType::kFloat64 : DataType::kFloat32;
  call.softmax_type = call.softmax_type.value_or(widest);
  TARTAN_ASSIGN_OR_RETURN(Tensor scores, Scores(context, call));
  TARTAN_ASSIGN_OR_RETURN(scores, Modify(context, "score_mod", scores));
  TARTAN_ASSIGN_OR_RETURN(
      Tensor probabilities,
      context.ApplyOne(TileFunction("X", "P",
                                    {ReduceStatement("M", '>', "X", scores.dims(), {3}),
                                     "D = X - stop_gradient(M)", "E = exp(D)",
                                     ReduceStatement("S", '+', "E", scores.dims(), {3}),
                                     absl::StrCat("P = ", Cast("E / S", scores.type()))}),
                       {scores}));
  TARTAN_ASSIGN_OR_RETURN(probabilities, Modify(context, "prob_mod", probabilities));
  return OneTensor(ApplyProbabilities(context, call, probabilities));
}

Outputs RotaryEmbedding(NodeContext& context) {
  const Tensor& x = context.input(0);
  Rotation rotation;
  TARTAN_ASSIGN_OR_RETURN(const int64_t heads, context.Int("num_heads", 0));
  TARTAN_ASSIGN_OR_RETURN(rotation.size, context.Int("rotary_embedding_dim", 0));
  TARTAN_ASSIGN_OR_RETURN(const int64_t interleaved, context.Int("interleaved", 0));
  rotation.is_interleaved = interleaved != 0;
  rotation.cosines = context.input(1);
  rotation.sines = context.input(2);
  if (context.HasInput(3)) {
    if (rotation.cosines.rank() == 2) {
      TARTAN_RETURN_IF_ERROR(context.CheckInput(3, {PlainBounds(rotation.cosines, 0)}));
    }
    rotation.positions = context.input(3);
  }
  std::vector<Tensor> outputs;
  if (x.rank() == 4) {
    TARTAN_ASSIGN_OR_RETURN(outputs.emplace_back(), Rotate(context, x, rotation));
  } else {
    TARTAN_ASSIGN_OR_RETURN(const Tensor split, SplitHeads(context, x, heads));
    TARTAN_ASSIGN_OR_RETURN(const Tensor turned, Rotate(context, split, rotation));
    TARTAN_ASSIGN_OR_RETURN(outputs.emplace_back(), JoinHeads(context, turned));
  }
  return outputs;
}

// Writes consecutive rows of the update into the cache, from a start index per sample.
Outputs TensorScatter(NodeContext& context) {
  const Tensor& cache = context.input(0);
  const Tensor& update = context.input(1);
  TARTAN_ASSIGN_OR_RETURN(const int64_t axis, context.Axis("axis", -2, cache.rank()));
  TARTAN_ASSIGN_OR_RETURN(const std::string mode,
                          context.OneOf("mode", "linear", {"linear", "circular"}));
  if (axis == 0) return Invalid("attribute 'axis' names the batch");
  std::vector<int64_t> expected = cache.dims();
  const size_t along = static_cast<size_t>(axis);
  const int64_t length = expected[along];
  if (update.rank() == cache.rank()) expected[along] = update.dims()[along];
  if (update.dims() != expected || update.dims()[along] > length) {
    return Invalid("an update of ", update.shape().ToString(), " for a cache of ",
                   cache.shape().ToString());
  }
  std::vector<Tensor> operands = {cache, update};
  std::string names = "C, U";
  std::vector<std::string> statements = {absl::StrCat("P = index(U, ", axis, ")")};
  if (context.HasInput(2)) {
    std::vector<int64_t> dims(cache.dims().size(), 1);
    dims[0] = cache.dims()[0];
    if (context.input(2).shape().element_count() != dims[0]) {
      return Invalid("operand 2: expected an index for each of ", dims[0], " samples, got ",
                     context.input(2).shape().ToString());
    }
    if (mode == "linear") {
      api::Bounds bounds = PlainBounds(cache, axis);
      bounds.greatest = length - update.dims()[along];  // the whole update must fit
      TARTAN_RETURN_IF_ERROR(context.CheckInput(2, {bounds}));
    }
    operands.push_back(context.input(2));
    names += ", START";
    const std::string sum = absl::StrCat("P + ", ReshapeCall("START", dims));
    statements.push_back(
        absl::StrCat("AT = ", mode == "circular" ? absl::StrCat("(", sum, ") % ", length) : sum));
  } else {
    statements.push_back("AT = P");
  }
  statements.push_back(absl::StrCat("Y = scatter_elements(C, AT, U, ", axis, ")"));
  return context.Apply(TileFunction(names, "Y", statements), operands);
}

constexpr OperatorRow kOperators[] = {
    {"Attention", 23, {3, 7}, Attention},
    In("ai.onnx.preview", {"FlexAttention", 1, {3, 3}, FlexAttention}),
    {"RotaryEmbedding", 23, {3, 4}, RotaryEmbedding},
    {"TensorScatter", 24, {2, 3}, TensorScatter},
};

}  // namespace

absl::Span<const OperatorRow> AttentionOperators() { return kOperators; }

}  // namespace tartan::onnx
