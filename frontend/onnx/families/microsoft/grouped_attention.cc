// SPDX-License-Identifier: Apache-2.0
// Microsoft's GroupQueryAttention, whose cache may have room for further keys, and its rotary
// position embedding.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/microsoft/families.h"
#include "frontend/onnx/families/microsoft/operators.h"
#include "frontend/onnx/families/shared/attention.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/families/shared/rotation.h"
#include "frontend/onnx/import/constant_tensors.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// Operands: query (or all three), key, value, past key, past value, lengths minus 1, maximum
// length, cosines, sines, positions, bias of the scores, sinks.
struct GroupedLayer {
  int64_t heads = 0;
  int64_t key_heads = 0;
  int64_t total = 0;      // keys of the longest sample
  int64_t past = 0;       // positions of the given cache
  bool is_plain = false;  // a single sample whose keys directly follow its past
  Tensor starts;          // int32 [batch]: position of each sample's first new key
};

absl::Status ReadGroupedHeads(const NodeContext& context, GroupedLayer* layer,
                              AttentionCall* call) {
  TARTAN_ASSIGN_OR_RETURN(layer->heads, context.Int("num_heads"));
  TARTAN_ASSIGN_OR_RETURN(layer->key_heads, context.Int("kv_num_heads"));
  Tensor query = context.input(0);
  if (context.HasInput(1) && context.HasInput(2)) {
    TARTAN_ASSIGN_OR_RETURN(call->key, SplitHeads(context, context.input(1), layer->key_heads));
    TARTAN_ASSIGN_OR_RETURN(call->value, SplitHeads(context, context.input(2), layer->key_heads));
  } else {
    TARTAN_ASSIGN_OR_RETURN(const Tensor all,
                            SplitHeads(context, query, layer->heads + 2 * layer->key_heads));
    TARTAN_ASSIGN_OR_RETURN(call->query, PartOf(context, all, 1, 0, layer->heads));
    TARTAN_ASSIGN_OR_RETURN(call->key, PartOf(context, all, 1, layer->heads, layer->key_heads));
    TARTAN_ASSIGN_OR_RETURN(
        call->value, PartOf(context, all, 1, layer->heads + layer->key_heads, layer->key_heads));
    return absl::OkStatus();
  }
  TARTAN_ASSIGN_OR_RETURN(call->query, SplitHeads(context, query, layer->heads));
  return absl::OkStatus();
}

// Rotates query and key by the positions of their sample.
absl::Status RotateHeads(NodeContext& context, const GroupedLayer& layer, AttentionCall* call) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t rotates, context.Int("do_rotary", 0));
  if (rotates == 0) return absl::OkStatus();
  if (!context.HasInput(7) || !context.HasInput(8))
    return Invalid("operands 7 and 8, the cosines and sines, are missing");
  Rotation rotation;
  rotation.cosines = context.input(7);
  rotation.sines = context.input(8);
  if (rotation.cosines.rank() == 2) rotation.size = 2 * rotation.cosines.dims()[1];
  TARTAN_ASSIGN_OR_RETURN(const int64_t interleaved, context.Int("rotary_interleaved", 0));
  rotation.is_interleaved = interleaved != 0;
  if (context.HasInput(9)) {
    if (rotation.cosines.rank() == 2) {
      TARTAN_RETURN_IF_ERROR(context.CheckInput(9, {PlainBounds(rotation.cosines, 0)}));
    }
    rotation.positions = context.input(9);
  } else {
    const std::vector<int64_t> dims = {call->query.dims()[0], call->query.dims()[2]};
    TARTAN_ASSIGN_OR_RETURN(
        rotation.positions,
        context.ApplyOne(TileFunction("S", "P",
                                      {Write("ALL", {"b", "s"}, dims) + " = =(S[b])",
                                       "P = ALL + index(ALL, 1)"}),
                         {layer.starts}));
  }
  TARTAN_ASSIGN_OR_RETURN(call->query, Rotate(context, call->query, rotation));
  TARTAN_ASSIGN_OR_RETURN(call->key, Rotate(context, call->key, rotation));
  return absl::OkStatus();
}

// The cache in operand `past` with `x` written at each sample's first new position.
absl::StatusOr<Tensor> Cached(const NodeContext& context, const GroupedLayer& layer, int past,
                              const Tensor& x) {
  std::vector<int64_t> dims = x.dims();
  if (context.HasInput(past)) {
    const Tensor& cache = context.input(past);
    bool fits = cache.rank() == 4 && cache.type() == x.type();
    for (size_t d : {0, 1, 3}) fits = fits && cache.dims()[d] == dims[d];
    if (!fits) {
      return Unsupported("a cache of ", cache.shape().ToString(), " for ", x.shape().ToString());
    }
  }
  if (layer.is_plain) {
    return context.HasInput(past) ? ConcatOf(context, {context.input(past), x}, 2) : x;
  }
  dims[2] = std::max(layer.past, layer.total);
  std::vector<Tensor> operands = {x, layer.starts};
  std::string names = "X, STARTS";
  const std::vector<std::string> indices = IndexNames(4);
  // Positions without a key are 0, whatever a shorter sample's past holds there.
  std::vector<std::string> statements = {"START = " + ReshapeCall("STARTS", {dims[0], 1, 1, 1})};
  if (context.HasInput(past)) {
    operands.push_back(context.input(past));
    names += ", PAST";
    statements.push_back(Write("ALL", indices, dims) + " = =(" + Read("PAST", indices) + ")");
    statements.push_back("C = index(ALL, 2) < START ? ALL : 0");
  } else {
    statements.push_back(Write("C", indices, dims) + " = =(X[i0, i1, i2 + " +
                         absl::StrCat(x.dims()[2]) + ", i3])");
  }
  statements.push_back("AT = index(X, 2) + START");
  statements.push_back("Y = scatter_elements(C, AT, X, 2)");
  return context.ApplyOne(TileFunction(names, "Y", statements), operands);
}

absl::Status ReadGroupedScores(const NodeContext& context, const GroupedLayer& layer,
                               AttentionCall* call) {
  TARTAN_ASSIGN_OR_RETURN(call->scale, ScoreScale(context, *call));
  TARTAN_ASSIGN_OR_RETURN(call->softcap, context.Float("softcap", 0.0f));
  TARTAN_ASSIGN_OR_RETURN(const int64_t causal, context.Int("causal", 1));
  TARTAN_ASSIGN_OR_RETURN(const int64_t window, context.Int("local_window_size", -1));
  TARTAN_ASSIGN_OR_RETURN(const int64_t smooth, context.Int("smooth_softmax", 0));
  if (causal != 0) call->right = 0;
  if (window > 0) call->left = window - 1;  // including the query's own position
  if (layer.is_plain) {
    call->offset = layer.past;
  } else {
    call->offsets = layer.starts;
    TARTAN_ASSIGN_OR_RETURN(
        call->lengths, context.ApplyOne(TileFunction("N", "L", {"L = N + 1"}), {context.input(5)}));
  }
  if (context.HasInput(10)) call->bias = context.input(10);
  if (context.HasInput(11)) {
    call->sink = context.input(11);
  } else if (smooth > 0) {
    call->sink =
        Tensor::Constant(HostTensor::Zeros(TensorShape{call->query.type(), {layer.heads}}));
  }
  return absl::OkStatus();
}

Outputs GroupQueryAttention(NodeContext& context) {
  TARTAN_RETURN_IF_ERROR(RefuseAttributes(context, {"sliding_window_cache", "qk_output"}));
  TARTAN_RETURN_IF_ERROR(RefuseOperands(context, {12, 13, 14, 15}));
  if (!context.HasInput(5) || !context.HasInput(6))
    return Invalid("operands 5 and 6, the lengths, are missing");
  GroupedLayer layer;
  AttentionCall call;
  call.joins_heads = true;
  TARTAN_ASSIGN_OR_RETURN(layer.total, context.HostInt(6));
  TARTAN_RETURN_IF_ERROR(ReadGroupedHeads(context, &layer, &call));
  const int64_t queries = call.query.dims()[2];
  if (context.HasInput(3) && context.input(3).rank() == 4) layer.past = context.input(3).dims()[2];
  // Some exporters give the lengths a second dimension.
  if (context.input(5).shape().element_count() != call.query.dims()[0]) {
    return Invalid("lengths ", context.input(5).shape().ToString(), " for ", call.query.dims()[0],
                   " samples");
  }
  const int64_t last = std::max(layer.past, layer.total) - 1;
  TARTAN_RETURN_IF_ERROR(context.CheckInput(5, {{0, last, "the keys"}}, "length minus one"));
  layer.is_plain = call.query.dims()[0] == 1 && layer.past + queries == layer.total;
  // All samples of the first call start at 0; shorter ones have padding after their keys.
  const std::string lengths =
      context.input(5).rank() == 1 ? "N" : ReshapeCall("N", {call.query.dims()[0]});
  const std::string starts = queries == layer.total
                                 ? absl::StrCat("S = ", lengths, " * 0")
                                 : absl::StrCat("S = ", lengths, " - ", queries - 1);
  TARTAN_ASSIGN_OR_RETURN(layer.starts,
                          context.ApplyOne(TileFunction("N", "S", {starts}), {context.input(5)}));
  if (queries != layer.total) {
    TARTAN_ASSIGN_OR_RETURN(
        layer.starts,
        context.Checked(layer.starts, {{0, last + 1 - queries, "the keys"}}, "first position"));
  }
  TARTAN_RETURN_IF_ERROR(RotateHeads(context, layer, &call));
  TARTAN_ASSIGN_OR_RETURN(call.key, Cached(context, layer, 3, call.key));
  TARTAN_ASSIGN_OR_RETURN(call.value, Cached(context, layer, 4, call.value));
  TARTAN_RETURN_IF_ERROR(ReadGroupedScores(context, layer, &call));
  TARTAN_ASSIGN_OR_RETURN(const AttentionResult result, Attend(context, call));
  return std::vector<Tensor>{result.output, call.key, call.value};
}

// Reads the attributes of rotations, and splits `x` into heads.
absl::StatusOr<Tensor> ReadRotation(const NodeContext& context, const Tensor& x,
                                    Rotation* rotation) {
  TARTAN_RETURN_IF_ERROR(RefuseAttributes(context, {"is_packed_batching"}));
  TARTAN_ASSIGN_OR_RETURN(int64_t heads, context.Int("num_heads", 0));
  TARTAN_ASSIGN_OR_RETURN(rotation->size, context.Int("rotary_embedding_dim", 0));
  TARTAN_ASSIGN_OR_RETURN(const int64_t interleaved, context.Int("interleaved", 0));
  TARTAN_ASSIGN_OR_RETURN(const float scale, context.Float("scale", 1.0f));
  if (scale != 1) return Unsupported("attribute 'scale' is ", scale);
  rotation->is_interleaved = interleaved != 0;
  Tensor split = x;
  if (x.rank() == 3) {
    // Without a number of heads, the angles are for a whole head.
    const bool is_known = rotation->cosines.rank() == 2 && rotation->cosines.dims()[1] > 0;
    if (heads == 0 && is_known) heads = x.dims()[2] / (2 * rotation->cosines.dims()[1]);
    TARTAN_ASSIGN_OR_RETURN(split, SplitHeads(context, x, heads));
  }
  if (split.rank() == 4) return split;
  return Invalid("expected three or four dimensions, got ", x.shape().ToString());
}

// `split` rotated, in the dimensions of `x`.
Outputs Rotated(const NodeContext& context, const Tensor& x, const Tensor& split,
                const Rotation& rotation) {
  TARTAN_ASSIGN_OR_RETURN(Tensor rotated, Rotate(context, split, rotation));
  if (x.rank() == 3) {
    TARTAN_ASSIGN_OR_RETURN(rotated, JoinHeads(context, rotated));
  }
  return std::vector<Tensor>{rotated};
}

// Operands: input, positions (of each element, or of the first), cosines, sines.
Outputs RotaryEmbedding(NodeContext& context) {
  const Tensor& x = context.input(0);
  Rotation rotation;
  rotation.cosines = context.input(2);
  rotation.sines = context.input(3);
  TARTAN_ASSIGN_OR_RETURN(const Tensor split, ReadRotation(context, x, &rotation));
  const bool is_first = context.input(1).shape().element_count() == 1;
  if (rotation.cosines.rank() == 2) {
    api::Bounds bounds = PlainBounds(rotation.cosines, 0);
    if (is_first) bounds.greatest = bounds.greatest + 1 - split.dims()[2];
    TARTAN_RETURN_IF_ERROR(context.CheckInput(1, {bounds}));
  }
  const Tensor& at = context.input(1);
  rotation.positions = at;
  if (is_first) {
    TARTAN_ASSIGN_OR_RETURN(
        rotation.positions,
        context.ApplyOne(
            TileFunction(
                "P", "Y",
                {absl::StrCat("FIRST = ", ReshapeCall("P", {})),
                 Write("ALL", {"b", "s"}, {split.dims()[0], split.dims()[2]}) + " = =(FIRST[])",
                 "Y = ALL + index(ALL, 1)"}),
            {at}));
  }
  return Rotated(context, x, split, rotation);
}

// The index of the position (time, row or column) that rotates each pair of a head.
absl::StatusOr<std::vector<double>> ReadSections(const NodeContext& context, int64_t pairs) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> sections, context.Ints("mrope_section"));
  TARTAN_ASSIGN_OR_RETURN(const int64_t layout, context.Int("mrope_layout", 0));
  bool fits = sections.size() == 3 && (layout == 0 || layout == 1);
  int64_t sum = 0;
  for (int64_t section : sections) {
    fits = fits && section >= 0 && section <= pairs;
    sum += fits ? section : 0;
  }
  if (!fits || sum != pairs) {
    return Invalid("sections ", DimsToString(sections), " in layout ", layout, " for ", pairs,
                   " pairs");
  }
  std::vector<double> streams;
  for (int64_t i = 0; i < pairs; ++i) {
    int stream = i < sections[0] ? 0 : i < sections[0] + sections[1] ? 1 : 2;
    if (layout == 1) {
      const int64_t third = i % 3;
      stream =
          third != 0 && i < 3 * sections[static_cast<size_t>(third)] ? static_cast<int>(third) : 0;
    }
    streams.push_back(stream);
  }
  return streams;
}

// Operands: input, positions [3, batch, positions], cosines, sines.
Outputs MRotaryEmbedding(NodeContext& context) {
  const Tensor& x = context.input(0);
  Rotation rotation;
  rotation.cosines = context.input(2);
  rotation.sines = context.input(3);
  TARTAN_ASSIGN_OR_RETURN(const Tensor split, ReadRotation(context, x, &rotation));
  if (rotation.cosines.rank() == 2) {
    TARTAN_RETURN_IF_ERROR(context.CheckInput(1, {PlainBounds(rotation.cosines, 0)}));
  }
  const Tensor& at = context.input(1);
  const int64_t batch = split.dims()[0];
  const int64_t length = split.dims()[2];
  if (at.dims() != std::vector<int64_t>{3, batch, length} || rotation.cosines.rank() != 2) {
    return Invalid("positions ", at.shape().ToString(), " and angles ",
                   rotation.cosines.shape().ToString(), " for ", x.shape().ToString());
  }
  const int64_t pairs = rotation.cosines.dims()[1];
  TARTAN_ASSIGN_OR_RETURN(const std::vector<double> streams, ReadSections(context, pairs));
  const std::vector<int64_t> rows = {batch * length, pairs};
  for (Tensor* table : {&rotation.cosines, &rotation.sines}) {
    TARTAN_ASSIGN_OR_RETURN(
        *table,
        context.ApplyOne(TileFunction("T, AT, STREAM", "Y",
                                      {"EACH = gather(AT, STREAM, 0)",
                                       Write("P", {absl::StrCat(length, "*b + s"), "i"}, rows) +
                                           " = =(EACH[i, b, s])",
                                       "ROWS = gather_elements(T, P, 0)",
                                       "Y = " + ReshapeCall("ROWS", {batch, length, pairs})}),
                         {*table, at, ConstantOf(DataType::kInt32, streams, {pairs})}));
  }
  return Rotated(context, x, split, rotation);
}

constexpr OperatorRow kOperators[] = {
    MicrosoftRow("GroupQueryAttention", {1, 16}, GroupQueryAttention, HostOperands(6)),
    MicrosoftRow("MRotaryEmbedding", {4, 4}, MRotaryEmbedding),
    MicrosoftRow("RotaryEmbedding", {4, 4}, RotaryEmbedding),
};

}  // namespace

absl::Span<const OperatorRow> MicrosoftGroupedAttentionOperators() { return kOperators; }

}  // namespace tartan::onnx
