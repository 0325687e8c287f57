// SPDX-License-Identifier: Apache-2.0
// Numbers of all gradients, which the update of each part needs. Internal to frontend/train.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/tensor.h"
#include "frontend/train/train_step.h"

namespace tartan::train {

// float32[kNormCount]: the sum of the squares of the gradients, and the number of ranks with a
// gradient that is not finite. Ranks add their own.
inline constexpr char kNorms[] = "train/norms";
inline constexpr int64_t kNormCount = 2;

// True if the update needs the norms.
bool NeedsNorms(const StepPlan& plan);
// Computes the norms of this rank's part from the sums over ranks, as the update does.
absl::StatusOr<StepGraph> BuildNorms(const std::vector<Parameter>& parameters,
                                     const StepPlan& plan);

// --- Of the norms of all ranks.

// The sum of squares, float32[].
absl::StatusOr<api::Tensor> SquaresOf(const api::Tensor& norms);
// A bool scalar: all gradients of all ranks are finite.
absl::StatusOr<api::Tensor> FiniteOf(const api::Tensor& norms);

}  // namespace tartan::train
