// SPDX-License-Identifier: Apache-2.0
// Numbers of all gradients, which the update of each rank's part needs. Internal to frontend/train.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "frontend/api/tensor.h"

namespace tartan::train {

// float32[kNormCount]: the sum of the squares of the gradients, and the number of ranks with a
// gradient that is not finite. Ranks add their own.
inline constexpr char kNorms[] = "train/norms";
inline constexpr int64_t kNormCount = 2;

// The norms of a rank's part. `squares`: the sum of squares, float32[]; `finite`: a bool scalar,
// all gradients of the part are finite.
absl::StatusOr<api::Tensor> NormsOf(const api::Tensor& squares, const api::Tensor& finite);

// --- Of the norms of all ranks.

// The sum of squares, float32[].
absl::StatusOr<api::Tensor> SquaresOf(const api::Tensor& norms);
// A bool scalar: all gradients of all ranks are finite.
absl::StatusOr<api::Tensor> FiniteOf(const api::Tensor& norms);

}  // namespace tartan::train
