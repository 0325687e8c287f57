// SPDX-License-Identifier: Apache-2.0
// The Dice loss of masks (Milletari et al., 2016). Internal to this folder.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "frontend/api/tensor.h"
#include "frontend/train/graph/loss.h"

namespace tartan::train {

// 1 - (2 sum(P T) + epsilon) / (sum(P) + sum(T) + epsilon) of each example, and of each class or
// channel. Ignored elements count in no sum.
// - With `class_axis`, `target` has class indices. P is the softmax, and T is 1 for the class.
// - Otherwise output and target have equal sizes. P is the sigmoid of the logits. The channels are
//   along `loss.axis`; without it an example is one mask.
absl::StatusOr<LossTerms> DiceLoss(const Loss& loss, const api::Tensor& output,
                                   const api::Tensor& target, std::optional<int64_t> class_axis);

}  // namespace tartan::train
