// SPDX-License-Identifier: Apache-2.0
// Gradients that are not to be too great. Internal to this folder.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/tensor.h"

namespace tartan::train {

// The factor, a float32 scalar, that brings the norm of all gradients together to at most `norm`,
// as torch.nn.utils.clip_grad_norm_ does. `numbers` are those of optimizer.h, whose factor the
// gradients are to be multiplied by.
absl::StatusOr<api::Tensor> ClipFactor(const std::vector<api::Tensor>& gradients, double norm,
                                       const api::Tensor& numbers);

// Each element between -value and value.
absl::StatusOr<api::Tensor> ClipElements(const api::Tensor& gradient, double value);

}  // namespace tartan::train
