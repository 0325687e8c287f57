// SPDX-License-Identifier: Apache-2.0
// Gradient clipping. Internal to this folder.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/tensor.h"

namespace tartan::train {

// The sum of the squares of all elements, a float32 scalar. Requires a gradient or more.
absl::StatusOr<api::Tensor> SumOfSquares(const std::vector<api::Tensor>& gradients);

// Returns the factor, a float32 scalar, that limits the norm of all gradients together to `norm`,
// as torch.nn.utils.clip_grad_norm_. `squares` is their SumOfSquares. `numbers` are the step
// numbers of optimizer.h; the gradients are to be multiplied by the gradient factor among them.
absl::StatusOr<api::Tensor> ClipFactor(const api::Tensor& squares, double norm,
                                       const api::Tensor& numbers);

// Clamps each element to [-value, value].
absl::StatusOr<api::Tensor> ClipElements(const api::Tensor& gradient, double value);

}  // namespace tartan::train
