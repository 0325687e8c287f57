// SPDX-License-Identifier: Apache-2.0
// Operators with a state along the sequence: linear attention, whose state is a matrix, and causal
// convolutions, which keep the last elements.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/api/repeat.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/families/shared/repetition.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// Sequences of up to this many steps become one program (empirical).
constexpr int64_t kMaxJoinedSteps = 4;

// The sizes of the operands: query, key, value, state, decay, beta.
struct LinearAttentionLayer {
  int64_t batch = 0;
  int64_t steps = 0;
  int64_t heads = 0;  // of key and value
  int64_t per_key = 1;
  int64_t key_size = 0;
  int64_t value_size = 0;
  bool has_decay = false;
  bool has_beta = false;
  double scale = 1;
  DataType type = DataType::kFloat32;

  std::vector<int64_t> state_dims() const { return {batch, heads, key_size, value_size}; }
};

absl::Status CheckSequence(const NodeContext& context, int i, const LinearAttentionLayer& layer,
                           std::initializer_list<int64_t> widths) {
  const Tensor& x = context.input(i);
  const bool fits = x.rank() == 3 && x.dims()[0] == layer.batch && x.dims()[1] == layer.steps &&
                    std::find(widths.begin(), widths.end(), x.dims()[2]) != widths.end();
  if (fits) return absl::OkStatus();
  return Invalid("operand ", i, " is ", x.shape().ToString(), ", expected ", layer.batch, " by ",
                 layer.steps, " rows of ", absl::StrJoin(widths, " or "));
}

// Decay and beta must be present if the rule uses them, and absent otherwise.
absl::Status CheckRule(const NodeContext& context, const std::string& rule, int operand,
                       bool is_used) {
  if (context.HasInput(operand) == is_used) return absl::OkStatus();
  return Invalid("rule '", rule, "' ", is_used ? "needs" : "has no", " operand ", operand);
}

absl::StatusOr<LinearAttentionLayer> ReadLinearAttention(const NodeContext& context) {
  LinearAttentionLayer layer;
  TARTAN_ASSIGN_OR_RETURN(const int64_t query_heads, context.Int("q_num_heads"));
  TARTAN_ASSIGN_OR_RETURN(layer.heads, context.Int("kv_num_heads"));
  TARTAN_ASSIGN_OR_RETURN(const std::string rule, context.String("update_rule", "gated_delta"));
  TARTAN_ASSIGN_OR_RETURN(layer.scale, context.Float("scale", 0.0f));
  if (layer.heads < 1 || query_heads < 1 || query_heads % layer.heads != 0) {
    return Invalid(layer.heads, " heads of the key do not divide ", query_heads,
                   " heads of the query");
  }
  layer.per_key = query_heads / layer.heads;
  layer.has_decay = rule == "gated" || rule == "gated_delta";
  layer.has_beta = rule == "delta" || rule == "gated_delta";
  if (!layer.has_decay && !layer.has_beta && rule != "linear") return Invalid("rule '", rule, "'");
  TARTAN_RETURN_IF_ERROR(CheckRule(context, rule, 4, layer.has_decay));
  TARTAN_RETURN_IF_ERROR(CheckRule(context, rule, 5, layer.has_beta));
  for (int i = 0; i < 3; ++i) {
    const Tensor& x = context.input(i);
    if (x.rank() == 3 && x.dims()[2] % (i == 0 ? query_heads : layer.heads) == 0) continue;
    return Invalid("operand ", i, ": expected [batch, steps, heads * size], got ",
                   x.shape().ToString());
  }
  layer.batch = context.input(0).dims()[0];
  layer.steps = context.input(0).dims()[1];
  layer.key_size = context.input(0).dims()[2] / query_heads;
  layer.value_size = context.input(2).dims()[2] / layer.heads;
  layer.type = context.input(0).type();
  if (layer.scale == 0) layer.scale = 1 / std::sqrt(static_cast<double>(layer.key_size));
  const int64_t keys = layer.heads * layer.key_size;
  TARTAN_RETURN_IF_ERROR(CheckSequence(context, 1, layer, {keys}));
  TARTAN_RETURN_IF_ERROR(CheckSequence(context, 2, layer, {layer.heads * layer.value_size}));
  if (layer.has_decay) {
    TARTAN_RETURN_IF_ERROR(CheckSequence(context, 4, layer, {layer.heads, keys}));
  }
  if (layer.has_beta) {
    TARTAN_RETURN_IF_ERROR(CheckSequence(context, 5, layer, {layer.heads, 1}));
  }
  if (context.HasInput(3)) TARTAN_RETURN_IF_ERROR(context.CheckDims(3, layer.state_dims()));
  return layer;
}

// One step in float32: rows of query, key, value, decay and beta, and the state S.
// S = exp(decay) S; v = beta (value - S' key); S = S + key v'; output = scale S' query.
std::string StepText(const LinearAttentionLayer& layer, int64_t decay_width, int64_t beta_width) {
  const int64_t batch = layer.batch;
  const int64_t heads = layer.heads;
  const auto real = [](const std::string& name, const std::vector<int64_t>& dims) {
    return Cast(ReshapeCall(name, dims), DataType::kFloat32);
  };
  std::string names = "S, Q, K, V";
  const std::vector<int64_t> values = {batch, heads, layer.value_size};
  std::vector<std::string> statements = {
      "QUERY = " + real("Q", {batch, heads, layer.per_key, layer.key_size}),
      "KEY = " + real("K", {batch, heads, layer.key_size}), "VALUE = " + real("V", values)};
  if (layer.has_decay) {
    names += ", DECAY";
    statements.push_back("G = " + real("DECAY", {batch, heads, decay_width / heads, 1}));
  }
  statements.push_back(layer.has_decay ? "KEPT = S * exp(G)" : "KEPT = S");
  if (layer.has_beta) {
    names += ", BETA";
    statements.push_back("RATE = " + real("BETA", {batch, beta_width, 1}));
    statements.push_back(Write("RECALLED", {"b", "h", "m"}, values) +
                         " = +(KEPT[b, h, d, m] * KEY[b, h, d])");
  }
  statements.push_back(layer.has_beta ? "NEWS = RATE * (VALUE - RECALLED)" : "NEWS = VALUE");
  statements.push_back(absl::StrCat("N = KEPT + ",
                                    ReshapeCall("KEY", {batch, heads, layer.key_size, 1}), " * ",
                                    ReshapeCall("NEWS", {batch, heads, 1, layer.value_size})));
  statements.push_back(
      Write("O", {"b", "h", "r", "m"}, {batch, heads, layer.per_key, layer.value_size}) +
      " = +(QUERY[b, h, r, d] * N[b, h, d, m])");
  statements.push_back(absl::StrCat(
      "Y = ", Cast(absl::StrCat(ReshapeCall("O", {batch, heads * layer.per_key * layer.value_size}),
                                " * ", Literal(layer.scale)),
                   layer.type)));
  return TileFunction(names, "N, Y", statements);
}

// The final state, then the outputs [steps, batch, …].
Outputs JoinSteps(const NodeContext& context, const LinearAttentionLayer& layer,
                  const std::string& text, Tensor state, const std::vector<Tensor>& sequences) {
  std::vector<Tensor> rows;
  for (int64_t t = 0; t < layer.steps; ++t) {
    std::vector<Tensor> operands = {state};
    for (const Tensor& sequence : sequences) {
      Window window = WholeOf(sequence);
      window.start[0] = t;
      window.sizes[0] = 1;
      TARTAN_ASSIGN_OR_RETURN(const Tensor slice, SliceOf(context, sequence, window));
      TARTAN_ASSIGN_OR_RETURN(operands.emplace_back(),
                              Reshape(context, slice, {layer.batch, sequence.dims()[2]}));
    }
    TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> made, context.Apply(text, operands));
    state = made[0];
    TARTAN_ASSIGN_OR_RETURN(rows.emplace_back(),
                            Reshape(context, made[1], {1, layer.batch, made[1].dims()[1]}));
  }
  if (rows.empty()) {
    const int64_t width = layer.heads * layer.per_key * layer.value_size;
    rows.push_back(
        Tensor::Constant(HostTensor::Zeros(TensorShape{layer.type, {0, layer.batch, width}})));
  }
  Tensor joined = rows[0];
  if (rows.size() > 1) {
    TARTAN_ASSIGN_OR_RETURN(joined, ConcatOf(context, rows, 0));
  }
  return std::vector<Tensor>{state, joined};
}

Outputs RepeatSteps(NodeContext& context, const LinearAttentionLayer& layer,
                    const std::string& text, const Tensor& state,
                    const std::vector<Tensor>& sequences) {
  api::RepeatBody body;
  body.iterations = layer.steps;
  body.states = {Tensor::Placeholder("state", state.shape())};
  std::vector<Tensor> operands = {state};
  for (const Tensor& sequence : sequences) {
    operands.push_back(sequence);
    body.slices.push_back(Tensor::Placeholder(
        "row", TensorShape{sequence.type(), {layer.batch, sequence.dims()[2]}}));
  }
  std::vector<Tensor> seen = body.states;
  seen.insert(seen.end(), body.slices.begin(), body.slices.end());
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> made, context.Apply(text, seen));
  body.next_states = {made[0]};
  body.rows = {made[1]};
  return context.Run(std::move(operands), std::make_shared<api::RepeatCall>(std::move(body)));
}

Outputs LinearAttention(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const LinearAttentionLayer layer, ReadLinearAttention(context));
  std::vector<Tensor> sequences;
  for (int i : {0, 1, 2, 4, 5}) {
    if (!context.HasInput(i)) continue;
    TARTAN_ASSIGN_OR_RETURN(sequences.emplace_back(),
                            RowsFirst(context, context.input(i), 1, false));
  }
  const DataType state_type = context.HasInput(3) ? context.input(3).type() : layer.type;
  Tensor state =
      Tensor::Constant(HostTensor::Zeros(TensorShape{DataType::kFloat32, layer.state_dims()}));
  if (context.HasInput(3)) {
    TARTAN_ASSIGN_OR_RETURN(state, ConvertTo(context, context.input(3), DataType::kFloat32));
  }
  const std::string text = StepText(layer, layer.has_decay ? context.input(4).dims()[2] : 0,
                                    layer.has_beta ? context.input(5).dims()[2] : 0);
  const bool joins = layer.steps <= kMaxJoinedSteps || !context.services().CanBreakGraph();
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> made,
                          joins ? JoinSteps(context, layer, text, state, sequences)
                                : RepeatSteps(context, layer, text, state, sequences));
  std::vector<Tensor> outputs(2);
  TARTAN_ASSIGN_OR_RETURN(outputs[0], RowsBack(context, made[1], 1, false));
  TARTAN_ASSIGN_OR_RETURN(outputs[1], ConvertTo(context, made[0], state_type));
  return outputs;
}

// Operands: input [batch, channels, length], weights [channels, 1, k], bias [channels], and the
// preceding k - 1 elements of the input.
Outputs CausalConvWithState(NodeContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& weights = context.input(1);
  TARTAN_ASSIGN_OR_RETURN(const std::string activation,
                          context.OneOf("activation", "none", {"none", "silu", "swish"}));
  const bool fits = x.rank() == 3 && weights.rank() == 3 && weights.dims()[0] == x.dims()[1] &&
                    weights.dims()[1] == 1 && weights.dims()[2] >= 1;
  if (!fits) {
    return Invalid("weights ", weights.shape().ToString(), " for ", x.shape().ToString());
  }
  const int64_t channels = x.dims()[1];
  const int64_t length = x.dims()[2];
  const int64_t before = weights.dims()[2] - 1;
  const std::vector<int64_t> state_dims = {x.dims()[0], channels, before};
  std::vector<Tensor> operands = {x, weights};
  std::string names = "X, W";
  const std::vector<std::string> indices = {"b", "c", "t"};
  std::vector<std::string> statements = {absl::StrCat(
      Write("NOW", indices, x.dims()), " = +(X[b, c, t + k - ", before, "] * W[c, 0, k])")};
  const std::string last =
      absl::StrCat(Write("N", indices, state_dims), " = =(X[b, c, t + ", length - before, "])");
  std::string sum = "NOW";
  if (context.HasInput(3)) {
    TARTAN_RETURN_IF_ERROR(context.CheckDims(3, state_dims));
    operands.push_back(context.input(3));
    names += ", PAST";
    statements.push_back(Write("THEN", indices, x.dims()) + " = +(PAST[b, c, t + k] * W[c, 0, k])");
    statements.push_back(
        absl::StrCat(Write("OLD", indices, state_dims), " = =(PAST[b, c, t + ", length, "])"));
    sum += " + THEN";
  }
  statements.push_back(context.HasInput(3) ? last + " default OLD" : last);
  if (context.HasInput(2)) {
    TARTAN_RETURN_IF_ERROR(context.CheckDims(2, {channels}));
    operands.push_back(context.input(2));
    names += ", B";
    absl::StrAppend(&sum, " + ", ReshapeCall("B", {channels, 1}));
  }
  statements.push_back(absl::StrCat("Z = ", sum));
  statements.push_back(
      absl::StrCat("Y = ", Cast(activation == "none" ? "Z" : "Z * sigmoid(Z)", x.type())));
  return context.Apply(TileFunction(names, "Y, N", statements), operands);
}

constexpr OperatorRow kOperators[] = {
    {"CausalConvWithState", 27, {2, 4}, CausalConvWithState},
    {"LinearAttention", 27, {3, 6}, LinearAttention},
};

}  // namespace

absl::Span<const OperatorRow> LinearAttentionOperators() { return kOperators; }

}  // namespace tartan::onnx
