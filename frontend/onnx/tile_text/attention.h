// SPDX-License-Identifier: Apache-2.0
// Scaled dot-product attention as one Tile function: what ONNX's and Microsoft's operators of
// attention have in common once their operands are heads of positions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "frontend/onnx/import/node_context.h"

namespace tartan::onnx {

// A stage of the scores [batch, heads, queries, keys] that an operator may give out.
enum class ScoreStage : uint8_t { kNone, kScaled, kCapped, kMasked, kProbabilities };

struct AttentionCall {
  // [batch, heads, positions, size]. The heads of key and value, equal in number, divide those of
  // the query: each serves as many neighbouring heads of the query.
  api::Tensor query;
  api::Tensor key;
  api::Tensor value;
  // Both broadcast to [batch, heads, queries, keys]. Where the last dimension is shorter, but not
  // 1, the keys behind it are hidden. Undefined: none.
  api::Tensor visible;  // bool
  api::Tensor bias;     // added to the scores
  api::Tensor lengths;  // integers [batch]: keys from there on are hidden
  double scale = 1;
  double softcap = 0;  // scores go through softcap * tanh(score / softcap); 0: they do not

  // Query i stands at position i + offset among the keys. A key is seen from positions that are at
  // most `left` behind it … `right` before it; -1 is no limit.
  api::Tensor offsets;  // integers [batch]; undefined: `offset` for all
  int64_t offset = 0;
  int64_t left = -1;   // how far back a query sees
  int64_t right = -1;  // how far ahead; 0 is causal attention

  // One more key for each head of the query that no value belongs to: its score [heads].
  api::Tensor sink;
  std::optional<DataType> softmax_type;  // the scores are rounded to it before the exponential
  // Every step is rounded to it, query and key are scaled apart and each by the root of `scale`: as
  // in the body that ONNX gives for its operator. Undefined: only the results are rounded.
  std::optional<DataType> step_type;
  bool joins_heads = false;  // the result is [batch, queries, heads * size]
  ScoreStage stage = ScoreStage::kNone;

  int64_t heads() const { return query.dims()[1]; }
};

struct AttentionResult {
  api::Tensor output;  // [batch, heads, queries, size], in the query's type
  api::Tensor scores;  // at `stage`; undefined for kNone
};

// A query that sees no key gives zeros. InvalidArgument where the sizes do not fit.
absl::StatusOr<AttentionResult> Attend(const NodeContext& context, const AttentionCall& call);

// The two products apart, for operators that put something of their own between them: query times
// key times scale, in the softmax's type (float32 where it has none) [batch, heads, queries, keys];
// and probabilities of that shape times value, in the query's type.
absl::StatusOr<api::Tensor> Scores(const NodeContext& context, const AttentionCall& call);
absl::StatusOr<api::Tensor> Weigh(const NodeContext& context, const AttentionCall& call,
                                  const api::Tensor& probabilities);

// [batch, positions, heads * size] as [batch, heads, positions, size]. InvalidArgument where the
// last dimension is not a multiple of `heads`.
absl::StatusOr<api::Tensor> SplitHeads(const NodeContext& context, const api::Tensor& x,
                                       int64_t heads);
// And back.
absl::StatusOr<api::Tensor> JoinHeads(const NodeContext& context, const api::Tensor& x);

}  // namespace tartan::onnx
