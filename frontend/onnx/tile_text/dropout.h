// SPDX-License-Identifier: Apache-2.0
// Dropout with different random numbers in each run.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/tensor.h"

namespace tartan::onnx {

// Sets elements of `x`, a float tensor, to 0 with probability `ratio` in [0, 1) and divides the
// others by 1 - ratio. The choice is a function of `seed` (uint32[2]) and `stream`, equal on every
// device. InvalidArgument for another ratio or type.
absl::StatusOr<api::Tensor> Dropped(const api::Tensor& x, double ratio, const api::Tensor& seed,
                                    uint32_t stream, absl::string_view name);
// The same, and a bool mask of the elements that are kept. Requires ratio > 0 and elements.
absl::StatusOr<std::vector<api::Tensor>> DroppedWithMask(const api::Tensor& x, double ratio,
                                                         const api::Tensor& seed, uint32_t stream,
                                                         absl::string_view name);

}  // namespace tartan::onnx
