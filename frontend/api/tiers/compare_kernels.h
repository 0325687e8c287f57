// SPDX-License-Identifier: Apache-2.0
// Debugging aid: compares the results of exact (shape-specialised) and ready (dynamic-shape)
// kernels for the same inputs.
#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "frontend/api/device.h"
#include "tile/base/host_tensor.h"

namespace tartan::api {

// True if TARTAN_CHECK_SWAP=1 is in the environment. The first run with exact kernels is then
// repeated with the ready kernels that they replaced, and fails if the results differ.
bool ComparesKernels();

// Tolerances, as a share of the maximum magnitude of an output.
// - kSumTolerance: float32 sums in another order; empirical.
// - kRoundedTolerance: sums of 16-bit factors; empirical.
inline constexpr double kSumTolerance = 1e-2;
inline constexpr double kRoundedTolerance = 1e-1;
double SwapTolerance(const Device& device);

// Returns Internal, naming the output, the element and both values, in these cases:
// - a float differs by more than `tolerance` times the maximum magnitude of its output;
// - a float is NaN or infinite in only one result;
// - more than 1 % of the integers or bools of an output differ.
absl::Status CompareKernels(absl::Span<const HostTensor> ready, absl::Span<const HostTensor> exact,
                            double tolerance = kSumTolerance);

}  // namespace tartan::api
