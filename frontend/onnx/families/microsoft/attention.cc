// SPDX-License-Identifier: Apache-2.0
// Microsoft's attention operators. They convert their forms of heads, masks and caches to
// AttentionCall (attention.h).
#include "frontend/onnx/families/shared/attention.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/microsoft/families.h"
#include "frontend/onnx/families/microsoft/operators.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// Entry `at` along `axis`, which is dropped.
absl::StatusOr<Tensor> Entry(const NodeContext& context, const Tensor& x, int64_t axis,
                             int64_t at) {
  TARTAN_ASSIGN_OR_RETURN(const Tensor slice, PartOf(context, x, axis, at, 1));
  std::vector<int64_t> dims = x.dims();
  dims.erase(dims.begin() + axis);
  return Reshape(context, slice, dims);
}

absl::StatusOr<Tensor> Sum(const NodeContext& context, const Tensor& a, const Tensor& b) {
  if (!a.defined()) return b;
  if (!b.defined()) return a;
  return context.ApplyOne(TileFunction("A, B", "C", {"C = A + B"}), {a, b});
}

// --- Masks

// The bias from a mask for scores [batch, 1, queries, keys]: 0, or `filter` for a hidden key. Forms
// of the mask:
// - [batch, keys], [batch, queries, keys] or [batch, 1, size, size]: positive if the key is
//   visible. The queries are the last rows of the keys.
// - [batch]: the number of keys of each sample.
// - [2 * batch]: the end of each sample's keys, then the start of each sample's keys.
absl::StatusOr<Tensor> MaskBias(const NodeContext& context, const Tensor& mask,
                                const AttentionCall& call, float filter) {
  const std::vector<int64_t>& dims = mask.dims();
  const int64_t batch = call.query.dims()[0];
  const int64_t queries = call.query.dims()[2];
  const int64_t keys = call.key.dims()[2];
  const std::string seen = absl::StrCat(" ? 0.0 : ", Literal(static_cast<double>(filter)));
  const auto raw = [&](const std::vector<int64_t>& as) {
    return context.ApplyOne(
        TileFunction("M", "Y",
                     {absl::StrCat("S = ", ReshapeCall("M", as)), absl::StrCat("Y = S > 0", seen)}),
        {mask});
  };
  if (dims == std::vector<int64_t>{batch, keys}) return raw({batch, 1, 1, keys});
  if (dims == std::vector<int64_t>{batch, queries, keys}) return raw({batch, 1, queries, keys});
  if (dims.size() == 4 && dims[0] == batch && dims[1] == 1 && dims[2] >= keys && dims[3] >= keys) {
    return context.ApplyOne(
        TileFunction("M", "Y",
                     {absl::StrCat(Write("S", {"b", "h", "i", "j"}, {batch, 1, queries, keys}),
                                   " = =(M[b, h, i + ", keys - queries, ", j])"),
                      absl::StrCat("Y = S > 0", seen)}),
        {mask});
  }
  const bool has_starts = dims.size() == 1 && dims[0] == 2 * batch;
  if (dims.size() == 1 && (dims[0] == batch || has_starts)) {
    std::vector<std::string> statements = {
        absl::StrCat(Write("ZEROS", {"j"}, {keys}), " = +(M[j + ", dims[0], "])"),
        "K = index(ZEROS, 0)", absl::StrCat(Write("ENDS", {"b", "0"}, {batch, 1}), " = =(M[b])")};
    std::string is_seen = "K < ENDS";
    if (has_starts) {
      statements.push_back(
          absl::StrCat(Write("STARTS", {"b", "0"}, {batch, 1}), " = =(M[b + ", batch, "])"));
      is_seen += " && K >= STARTS";
    }
    statements.push_back(absl::StrCat("S = ", is_seen, seen));
    statements.push_back(absl::StrCat("Y = ", ReshapeCall("S", {batch, 1, 1, keys})));
    return context.ApplyOne(TileFunction("M", "Y", statements), {mask});
  }
  return Unsupported("a mask of ", mask.shape().ToString(), " for ", batch, " samples of ", queries,
                     " queries and ", keys, " keys");
}

// Sets scale, masks and direction. `mask` and `bias` are optional operands.
absl::Status ReadScores(const NodeContext& context, int mask, int bias, AttentionCall* call) {
  TARTAN_ASSIGN_OR_RETURN(call->scale, ScoreScale(context, *call));
  TARTAN_ASSIGN_OR_RETURN(const float filter, context.Float("mask_filter_value", -10000.0f));
  TARTAN_ASSIGN_OR_RETURN(const int64_t unidirectional, context.Int("unidirectional", 0));
  if (unidirectional != 0) call->right = 0;
  if (context.HasInput(mask)) {
    TARTAN_ASSIGN_OR_RETURN(call->bias, MaskBias(context, context.input(mask), *call, filter));
  }
  if (context.HasInput(bias)) {
    TARTAN_ASSIGN_OR_RETURN(call->bias, Sum(context, call->bias, context.input(bias)));
  }
  return absl::OkStatus();
}

// --- Attention

// Attention of `projected` [batch, positions, query | key | value] with the optional past, operand
// `past` [2, batch, heads, positions, size]. Outputs: the attention, and key and value in the form
// of a past.
Outputs AttendProjected(NodeContext& context, const Tensor& projected, int mask, int past,
                        int bias) {
  TARTAN_RETURN_IF_ERROR(RefuseAttributes(context, {"do_rotary", "past_present_share_buffer"}));
  TARTAN_ASSIGN_OR_RETURN(const int64_t heads, context.Int("num_heads"));
  const int64_t third = projected.dims()[2] / 3;
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes,
                          context.Ints("qkv_hidden_sizes", {third, third, third}));
  if (sizes.size() != 3 || sizes[0] + sizes[1] + sizes[2] != projected.dims()[2]) {
    return Invalid("the weights give ", projected.dims()[2], " elements, expected ",
                   DimsToString(sizes));
  }
  AttentionCall call;
  call.joins_heads = true;
  int64_t start = 0;
  Tensor* const parts[] = {&call.query, &call.key, &call.value};
  for (size_t i = 0; i < 3; ++i) {
    TARTAN_ASSIGN_OR_RETURN(const Tensor part, PartOf(context, projected, 2, start, sizes[i]));
    TARTAN_ASSIGN_OR_RETURN(*parts[i], SplitHeads(context, part, heads));
    start += sizes[i];
  }
  if (context.HasInput(past)) {
    const std::vector<int64_t>& dims = context.input(past).dims();
    const std::vector<int64_t>& k = call.key.dims();
    if (dims.size() != 5 || dims[0] != 2 || dims[1] != k[0] || dims[2] != k[1] || dims[4] != k[3]) {
      return Invalid("operand ", past, " is ", context.input(past).shape().ToString(),
                     ", which cannot precede ", call.key.shape().ToString());
    }
    call.offset = dims[3];
    for (int i = 0; i < 2; ++i) {
      Tensor before = PartOfCaches(context, context.input(past), 0, i);
      if (!before.defined()) {
        TARTAN_ASSIGN_OR_RETURN(before, Entry(context, context.input(past), 0, i));
      }
      TARTAN_ASSIGN_OR_RETURN(*parts[i + 1], ConcatOf(context, {before, *parts[i + 1]}, 2));
    }
  }
  TARTAN_RETURN_IF_ERROR(ReadScores(context, mask, bias, &call));
  TARTAN_ASSIGN_OR_RETURN(const AttentionResult result, Attend(context, call));
  std::vector<Tensor> outputs = {result.output};
  if (!context.WantsOutput(1)) return outputs;
  std::vector<Tensor> present;
  for (const Tensor& part : {call.key, call.value}) {
    std::vector<int64_t> dims = part.dims();
    dims.insert(dims.begin(), 1);
    TARTAN_ASSIGN_OR_RETURN(present.emplace_back(), Reshape(context, part, dims));
  }
  TARTAN_ASSIGN_OR_RETURN(outputs.emplace_back(), ConcatOf(context, present, 0));
  return outputs;
}

// Sizes of [batch, positions, inputs] times [inputs, outputs].
absl::StatusOr<std::vector<int64_t>> ProjectedDims(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& w = context.input(1);
  if (x.rank() != 3 || w.rank() != 2 || w.dims()[0] != x.dims()[2]) {
    return Invalid("weights ", w.shape().ToString(), " for ", x.shape().ToString());
  }
  return std::vector<int64_t>{x.dims()[0], x.dims()[1], w.dims()[1]};
}

// Operands: input, weights, bias, mask, past, bias of the scores, length of the past.
Outputs Attention(NodeContext& context) {
  TARTAN_RETURN_IF_ERROR(RefuseOperands(context, {6}));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, ProjectedDims(context));
  std::vector<Tensor> operands = {context.input(0), context.input(1)};
  std::vector<std::string> statements = {Write("P", {"b", "s", "o"}, dims) +
                                         " = +(X[b, s, i] * W[i, o])"};
  const bool has_bias = context.HasInput(2);
  if (has_bias) operands.push_back(context.input(2));
  statements.push_back(has_bias ? "Y = P + B" : "Y = P");
  TARTAN_ASSIGN_OR_RETURN(
      const Tensor projected,
      context.ApplyOne(TileFunction(has_bias ? "X, W, B" : "X, W", "Y", statements), operands));
  return AttendProjected(context, projected, 3, 4, 5);
}

// Operands: input, weights, bias, scale of the input, of the weights, mask, zero point of the
// input, of the weights, past.
Outputs QAttention(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, ProjectedDims(context));
  std::vector<Tensor> operands = {context.input(0), context.input(1), context.input(2),
                                  context.input(3), context.input(4)};
  std::string names = "X, W, B, XS, WS";
  const auto integer = [&](const std::string& name, int zero) {
    const std::string value = Cast(name, DataType::kInt32);
    if (!context.HasInput(zero)) return absl::StrCat(name, "I = ", value);
    operands.push_back(context.input(zero));
    absl::StrAppend(&names, ", ", name, "Z");
    return absl::StrCat(name, "I = ", value, " - ",
                        Cast(absl::StrCat(name, "Z"), DataType::kInt32));
  };
  const std::vector<std::string> statements = {
      integer("X", 6), integer("W", 7),
      Write("P", {"b", "s", "o"}, dims) + " = +(XI[b, s, i] * WI[i, o])",
      absl::StrCat("Y = ", Cast("P", DataType::kFloat32), " * (XS * WS) + B")};
  TARTAN_ASSIGN_OR_RETURN(const Tensor projected,
                          context.ApplyOne(TileFunction(names, "Y", statements), operands));
  return AttendProjected(context, projected, 5, 8, kAnyNumber);
}

// --- MultiHeadAttention

// Operands: query, key, value, bias of the three, mask, bias of the scores, past key, past value.
absl::Status ReadHeads(const NodeContext& context, int64_t heads, AttentionCall* call) {
  const auto packed = [&](const Tensor& x, int64_t at) -> absl::StatusOr<Tensor> {
    TARTAN_ASSIGN_OR_RETURN(const Tensor entry, Entry(context, x, 3, at));
    return Transpose(context, entry, {0, 2, 1, 3});
  };
  const Tensor& query = context.input(0);
  if (query.rank() == 5) {
    if (query.dims()[3] != 3 || query.dims()[2] != heads) {
      return Invalid("expected ", heads, " heads of query, key and value, got ",
                     query.shape().ToString());
    }
    TARTAN_ASSIGN_OR_RETURN(call->query, packed(query, 0));
    TARTAN_ASSIGN_OR_RETURN(call->key, packed(query, 1));
    TARTAN_ASSIGN_OR_RETURN(call->value, packed(query, 2));
    return absl::OkStatus();
  }
  TARTAN_ASSIGN_OR_RETURN(call->query, SplitHeads(context, query, heads));
  if (!context.HasInput(1)) return Invalid("operand 1, the key, is missing");
  const Tensor& key = context.input(1);
  if (key.rank() == 5) {
    if (key.dims()[3] != 2 || key.dims()[2] != heads) {
      return Invalid("expected ", heads, " heads of key and value, got ", key.shape().ToString());
    }
    TARTAN_ASSIGN_OR_RETURN(call->key, packed(key, 0));
    TARTAN_ASSIGN_OR_RETURN(call->value, packed(key, 1));
    return absl::OkStatus();
  }
  if (!context.HasInput(2)) return Invalid("operand 2, the value, is missing");
  call->key = key;
  call->value = context.input(2);
  if (key.rank() == 4) return absl::OkStatus();
  TARTAN_ASSIGN_OR_RETURN(call->key, SplitHeads(context, key, heads));
  TARTAN_ASSIGN_OR_RETURN(call->value, SplitHeads(context, call->value, heads));
  return absl::OkStatus();
}

// Adds the part of the bias from `*start` on to heads [batch, heads, positions, size].
absl::Status AddHeadBias(const NodeContext& context, const Tensor& bias, int64_t* start,
                         Tensor* heads) {
  const std::vector<int64_t>& dims = heads->dims();
  TARTAN_ASSIGN_OR_RETURN(const Tensor part, PartOf(context, bias, 0, *start, dims[1] * dims[3]));
  *start += dims[1] * dims[3];
  TARTAN_ASSIGN_OR_RETURN(const Tensor placed, Reshape(context, part, {dims[1], 1, dims[3]}));
  TARTAN_ASSIGN_OR_RETURN(*heads, Sum(context, *heads, placed));
  return absl::OkStatus();
}

absl::Status AddBiases(const NodeContext& context, AttentionCall* call) {
  if (!context.HasInput(3)) return absl::OkStatus();
  const Tensor& bias = context.input(3);
  const int64_t queries = call->heads() * call->query.dims()[3];
  const int64_t values = call->value.rank() == 4 ? call->heads() * call->value.dims()[3] : 0;
  if (bias.rank() != 1 || bias.dims()[0] != 2 * queries + values) {
    return Invalid("operand 3 is ", bias.shape().ToString(), ", expected ", 2 * queries + values,
                   " elements");
  }
  int64_t start = 0;
  TARTAN_RETURN_IF_ERROR(AddHeadBias(context, bias, &start, &call->query));
  // The bias of keys and values in the form of heads is already added.
  if (context.HasInput(1) && context.input(1).rank() == 4) return absl::OkStatus();
  TARTAN_RETURN_IF_ERROR(AddHeadBias(context, bias, &start, &call->key));
  return AddHeadBias(context, bias, &start, &call->value);
}

// Reorders positions of `past` [batch * beams, heads, positions, size] by the beam indices `beams`
// [batch, beams, positions].
absl::StatusOr<Tensor> ByBeams(const NodeContext& context, const Tensor& past,
                               const Tensor& beams) {
  const std::vector<int64_t>& dims = past.dims();
  const int64_t length = dims[2];
  if (beams.rank() != 3 || beams.dims()[0] * beams.dims()[1] != dims[0] ||
      beams.dims()[2] < length) {
    return Invalid("beams ", beams.shape().ToString(), " for ", past.shape().ToString());
  }
  const int64_t width = beams.dims()[1];
  const int64_t rows = dims[0] * length;
  return context.ApplyOne(
      TileFunction(
          "P, BEAMS", "Y",
          {Write("ROWS", {absl::StrCat(length, "*n + k"), "h", "d"}, {rows, dims[1], dims[3]}) +
               " = =(P[n, h, k, d])",
           Write("B", {"b", "j", "k"}, {beams.dims()[0], width, length}) + " = =(BEAMS[b, j, k])",
           absl::StrCat("AT = (index(B, 0) * ", width, " + B) * ", length, " + index(B, 2)"),
           absl::StrCat("PICKED = gather(ROWS, ", ReshapeCall("AT", {dims[0], length}), ", 0)"),
           Write("Y", {"n", "h", "k", "d"}, dims) + " = =(PICKED[n, k, h, d])"}),
      {past, beams});
}

// Concatenates the past with key and value. Operand 8 is the number of valid positions in the
// past's buffer.
absl::Status AddPast(NodeContext& context, AttentionCall* call) {
  call->offset = context.input(6).rank() == 4 ? context.input(6).dims()[2] : 0;
  if (context.HasInput(8)) {
    TARTAN_ASSIGN_OR_RETURN(call->offset, context.HostInt(8));
  }
  if (context.HasInput(9) && context.input(9).rank() == 3) {
    TARTAN_RETURN_IF_ERROR(context.CheckInput(9, {PlainBounds(context.input(9), 1)}, "beam"));
  }
  for (int i : {6, 7}) {
    Tensor& now = i == 6 ? call->key : call->value;
    const Tensor& before = context.input(i);
    bool fits = before.rank() == 4 && now.rank() == 4;
    for (size_t d : {0, 1, 3}) fits = fits && before.dims()[d] == now.dims()[d];
    if (!fits) {
      return Invalid("operand ", i, " is ", before.shape().ToString(), ", which cannot precede ",
                     now.shape().ToString());
    }
    const int64_t places = before.dims()[2] - (context.HasInput(8) ? now.dims()[2] : 0);
    if (call->offset < 0 || call->offset > places) {
      return Invalid("a past of ", call->offset, " positions, operand ", i, " is ",
                     before.shape().ToString());
    }
    TARTAN_ASSIGN_OR_RETURN(Tensor past, PartOf(context, before, 2, 0, call->offset));
    if (context.HasInput(9)) {
      TARTAN_ASSIGN_OR_RETURN(past, ByBeams(context, past, context.input(9)));
    }
    TARTAN_ASSIGN_OR_RETURN(now, ConcatOf(context, {past, now}, 2));
  }
  return absl::OkStatus();
}

Outputs MultiHeadAttention(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t heads, context.Int("num_heads"));
  AttentionCall call;
  call.joins_heads = true;
  TARTAN_RETURN_IF_ERROR(ReadHeads(context, heads, &call));
  TARTAN_RETURN_IF_ERROR(AddBiases(context, &call));
  if (context.HasInput(6) != context.HasInput(7)) {
    return Invalid("past key and past value must be given together");
  }
  if (context.HasInput(6)) TARTAN_RETURN_IF_ERROR(AddPast(context, &call));
  if (call.key.rank() != 4) return Invalid("a key of ", call.key.shape().ToString());
  // The queries have the last positions of the keys.
  call.offset = std::max(call.offset, call.key.dims()[2] - call.query.dims()[2]);
  TARTAN_RETURN_IF_ERROR(ReadScores(context, 4, 5, &call));
  if (context.WantsOutput(3)) call.stage = ScoreStage::kMasked;
  TARTAN_ASSIGN_OR_RETURN(const AttentionResult result, Attend(context, call));
  std::vector<Tensor> outputs = {result.output, call.key, call.value};
  for (int i : {6, 7}) {
    if (!context.HasInput(8)) break;
    // The past is a buffer whose remaining positions stay unchanged.
    const Tensor& buffer = context.input(i);
    const int64_t used = call.key.dims()[2];
    TARTAN_ASSIGN_OR_RETURN(const Tensor rest,
                            PartOf(context, buffer, 2, used, buffer.dims()[2] - used));
    Tensor& present = outputs[static_cast<size_t>(i) - 5];
    TARTAN_ASSIGN_OR_RETURN(present, ConcatOf(context, {present, rest}, 2));
  }
  outputs.push_back(result.scores);
  return outputs;
}

constexpr OperatorRow kOperators[] = {
    MicrosoftRow("Attention", {2, 7}, Attention),
    MicrosoftRow("MultiHeadAttention", {1, 10}, MultiHeadAttention, HostOperands(8)),
    MicrosoftRow("QAttention", {5, 9}, QAttention),
};

}  // namespace

absl::Span<const OperatorRow> MicrosoftAttentionOperators() { return kOperators; }

}  // namespace tartan::onnx
