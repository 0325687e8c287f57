// SPDX-License-Identifier: Apache-2.0
// Sums that accumulate on the device over the steps between two reads. Internal to this folder.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/tensor.h"
#include "frontend/train/graph/loss.h"

namespace tartan::train {

// Elements of the sums: numerator and denominator of the loss, rows whose class has the maximum
// score, and all rows with a class.
enum Sum : int64_t { kNumerator, kDenominator, kCorrect, kCounted, kSumCount };

// Returns `sums`, float32[kSumCount], plus the sums of this batch; unchanged if `healthy`, a bool
// scalar, is false. `target` may be undefined.
absl::StatusOr<api::Tensor> NextSums(const api::Tensor& sums, const api::Tensor& healthy,
                                     const Loss& loss, const LossTerms& terms,
                                     const api::Tensor& output, const api::Tensor& target);

// A bool scalar: a step of this loss, float32[], takes effect. `skipped`: the number of steps since
// a loss was not finite, int32[].
absl::StatusOr<api::Tensor> TakesEffect(const api::Tensor& skipped, const api::Tensor& loss);
// `skipped` after that step.
absl::StatusOr<api::Tensor> NextSkipped(const api::Tensor& skipped, const api::Tensor& healthy);

// The number of elements that are not finite, an int32 scalar.
absl::StatusOr<api::Tensor> CountNonFinite(const api::Tensor& tensor);
// Appends this number and the name of a float tensor with elements; does nothing for other tensors.
absl::Status AddCount(std::string name, const api::Tensor& tensor, std::vector<api::Tensor>* counts,
                      std::vector<std::string>* names);

}  // namespace tartan::train
