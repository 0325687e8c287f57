// SPDX-License-Identifier: Apache-2.0
// Dropout with other random numbers in each run.
#pragma once

#include "absl/status/statusor.h"
#include "frontend/api/tensor.h"

namespace tartan::onnx {

// `x`, floats, of which elements are 0 with probability `ratio`, in [0, 1), and the others divided
// by 1 - ratio. Which ones is a function of `seed` (uint32[2]) and `stream`, the same on every
// device. InvalidArgument for another ratio or type.
absl::StatusOr<api::Tensor> Dropped(const api::Tensor& x, double ratio, const api::Tensor& seed,
                                    uint32_t stream, absl::string_view name);

}  // namespace tartan::onnx
