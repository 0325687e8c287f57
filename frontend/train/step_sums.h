// SPDX-License-Identifier: Apache-2.0
// What is added up over the steps until it is read. Internal to this folder.
#pragma once

#include "absl/status/statusor.h"
#include "frontend/api/tensor.h"
#include "frontend/train/loss.h"

namespace tartan::train {

// Sums over the steps since they were last read, in this order: the terms of the loss, rows whose
// greatest score is at their class, and all rows that have a class.
enum Sum : int64_t { kNumerator, kDenominator, kCorrect, kCounted, kSumCount };

// `sums`, float32[kSumCount], with what this batch adds to them, as they are where `healthy`, a
// bool scalar, is false. `target` may be undefined.
absl::StatusOr<api::Tensor> NextSums(const api::Tensor& sums, const api::Tensor& healthy,
                                     const Loss& loss, const LossTerms& terms,
                                     const api::Tensor& output, const api::Tensor& target);

}  // namespace tartan::train
