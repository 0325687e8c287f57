// SPDX-License-Identifier: Apache-2.0
// Applies a loss: compares a model's output with the target for each example.
#pragma once

#include "absl/status/statusor.h"
#include "frontend/api/tensor.h"
#include "frontend/train/graph/loss.h"

namespace tartan::train {

// InvalidArgument, naming both shapes, if output and target do not fit. `target` is undefined if
// the loss needs none.
absl::StatusOr<LossTerms> ApplyLoss(const Loss& loss, const api::Tensor& output,
                                    const api::Tensor& target);
// The loss of the batch, a float32 scalar.
absl::StatusOr<api::Tensor> BatchLoss(const LossTerms& terms);

}  // namespace tartan::train
