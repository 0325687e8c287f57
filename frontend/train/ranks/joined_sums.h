// SPDX-License-Identifier: Apache-2.0
// Sums that the ranks of a data-parallel run join: gradients, each weighted by the weight of its
// batch (the sum of the weights of its examples), and the state kJoined. The weighted mean over the
// ranks is the gradient of all their examples. Internal to this folder.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/tensor.h"
#include "frontend/train/graph/loss.h"

namespace tartan::train {

// float32[kJoinedCount]: the weight of the batches since the last update; 1 on a rank whose loss
// was not finite, 0 on others; the number of steps since then.
inline constexpr char kJoined[] = "train/joined";
inline constexpr int64_t kJoinedCount = 3;

// The weight of a batch, a float32 scalar.
absl::StatusOr<api::Tensor> WeightOf(const LossTerms& terms);
// The seed of the loss, 1 if it is undefined, times the weight of the batch. With joint statistics
// a gradient depends on the examples of all ranks, so each rank weighs its loss, not its gradients.
absl::StatusOr<api::Tensor> WeightedSeed(const api::Tensor& seed, const api::Tensor& weight);
// Returns `joined` after a batch, which a kernel can write in place. `skipped` is the number of
// steps since the loss was not finite, with this one.
absl::StatusOr<api::Tensor> NextJoined(const api::Tensor& joined, const api::Tensor& healthy,
                                       const api::Tensor& weight, const api::Tensor& skipped);
// `sum` + `gradient` * `weight`, which is 1 if it is undefined; `sum` if not `healthy`. An
// undefined `sum` is 0, and has a weight.
absl::StatusOr<api::Tensor> AddToSum(const api::Tensor& sum, const api::Tensor& gradient,
                                     const api::Tensor& healthy, const api::Tensor& weight,
                                     absl::string_view name);

struct JoinedUpdate {
  api::Tensor joined;        // the state kJoined
  api::Tensor next_joined;   // zeros
  api::Tensor next_skipped;  // the same on all ranks
  api::Tensor healthy;       // whether the losses of all ranks were finite
};

// What follows from `joined` once it has the sums over all ranks. Makes weighted means of
// `gradients`, which have these sums, too.
absl::StatusOr<JoinedUpdate> ApplyJoined(const api::Tensor& skipped,
                                         std::vector<api::Tensor>* gradients);

}  // namespace tartan::train
