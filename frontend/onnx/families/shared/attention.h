// SPDX-License-Identifier: Apache-2.0
// Attention, softmax(query * key) * value, as one Tile function, shared by the attention operators
// of ONNX and Microsoft. Their handlers bring the operands into the form [batch, heads, positions,
// size].
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "frontend/onnx/import/node_context.h"

namespace tartan::onnx {

// A stage of the scores [batch, heads, queries, keys] that an operator may output.
enum class ScoreStage : uint8_t { kNone, kScaled, kCapped, kMasked, kProbabilities };

struct AttentionCall {
  // [batch, heads, positions, size]. Key and value have the same number of heads, which divides the
  // number of query heads. Each of their heads serves a group of consecutive query heads.
  Tensor query;
  Tensor key;
  Tensor value;
  // Both broadcast to [batch, heads, queries, keys]. If the last dimension is shorter and not 1,
  // the remaining keys are hidden. Undefined: no mask.
  Tensor visible;  // bool
  Tensor bias;     // added to the scores
  Tensor lengths;  // integers [batch]: keys from there on are hidden
  double scale = 1;
  double softcap = 0;  // scores become softcap * tanh(score / softcap); 0: no cap

  // Query i has position i + offset among the keys. It sees the keys from `left` positions before
  // it to `right` positions after it; -1 is no limit.
  Tensor offsets;  // integers [batch]; undefined: `offset` for all
  int64_t offset = 0;
  int64_t left = -1;   // keys before the query that it sees
  int64_t right = -1;  // keys after the query that it sees; 0 is causal attention

  // The score of an additional key without value, one per query head: [heads].
  Tensor sink;
  std::optional<DataType> softmax_type;  // the scores are rounded to it before the exponential
  // Every step is rounded to this type, and query and key are each multiplied by sqrt(scale), as in
  // the function body of ONNX's Attention. Undefined: only the results are rounded.
  std::optional<DataType> step_type;
  bool joins_heads = false;  // the result is [batch, queries, heads * size]
  ScoreStage stage = ScoreStage::kNone;

  int64_t heads() const { return query.dims()[1]; }
};

struct AttentionResult {
  Tensor output;  // [batch, heads, queries, size], in the query's type
  Tensor scores;  // at `stage`; undefined for kNone
};

// A query that sees no key gives zeros. InvalidArgument if the sizes do not fit.
absl::StatusOr<AttentionResult> Attend(const NodeContext& context, const AttentionCall& call);

// The two matmuls of attention as separate functions, for operators with their own softmax.
// - Scores: query times key times scale, [batch, heads, queries, keys], in softmax_type or else
//   float32.
// - Weigh: `probabilities` of that shape times value, in the query's type.
absl::StatusOr<Tensor> Scores(const NodeContext& context, const AttentionCall& call);
absl::StatusOr<Tensor> ApplyProbabilities(const NodeContext& context, const AttentionCall& call,
                                          const Tensor& probabilities);

// Reshapes [batch, positions, heads * size] to [batch, heads, positions, size]. InvalidArgument if
// the last dimension is not a multiple of `heads`.
absl::StatusOr<Tensor> SplitHeads(const NodeContext& context, const Tensor& x, int64_t heads);
// The inverse of SplitHeads.
absl::StatusOr<Tensor> JoinHeads(const NodeContext& context, const Tensor& x);

}  // namespace tartan::onnx
