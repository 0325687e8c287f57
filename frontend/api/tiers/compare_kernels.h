// SPDX-License-Identifier: Apache-2.0
// Debugging aid: compares what exact (shape-specialised) kernels compute with what ready
// (dynamic-shape) ones compute from the same inputs.
#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "frontend/api/device.h"
#include "tile/base/host_tensor.h"

namespace tartan::api {

// Whether TARTAN_CHECK_SWAP=1 is in the environment: the first run with exact kernels is then
// repeated with the ready ones that they replaced, and fails where the results differ.
bool ComparesKernels();

// How much results may differ, as a share of the greatest magnitude of an output: sums are added in
// another order, or from factors of 16 bits.
inline constexpr double kSumTolerance = 1e-2;
inline constexpr double kRoundedTolerance = 1e-1;
double SwapTolerance(const Device& device);

// Internal, naming the output, the element and both values, where a float differs by more than
// `tolerance` times the greatest magnitude of its output, or is NaN or infinite in one alone, and
// where more than one in a hundred integers or bools differ.
absl::Status CompareKernels(absl::Span<const HostTensor> ready, absl::Span<const HostTensor> exact,
                            double tolerance = kSumTolerance);

}  // namespace tartan::api
