// SPDX-License-Identifier: Apache-2.0
// Split-K for tensor-core GEMMs: K is divided among work-groups.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/base/precision.h"
#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"
#include "tile/poly/split_reduction.h"

namespace tartan::plan {

// Plans split-K as two kernels: a tensor-core GEMM of K chunks, and the returned kernel, which adds
// up the partial sums. Useful if there are too few result tiles for the device. The
// parameters are those of MatrixCandidate. Empty if the GEMM of K chunks has no plan.
std::optional<PlannedKernel> SplitKCandidate(const poly::FlatContraction& flat,
                                             const HardwareSettings& settings, MatrixFormat format,
                                             const std::vector<bool>& is_constant);

// A GEMM divided by split-K: a tensor-core kernel computes the sums of K chunks, another kernel
// adds them up.
struct SplitKReduction {
  poly::SplitKernel kernels;
  int64_t chunks = 1;     // number of K chunks
  double partial_us = 0;  // predicted time of the first kernel
  double moving_us = 0;   // predicted time to move the partial sums
};

// Returns the fastest split-K form by the time of the first kernel and of moving the partial sums.
// Empty if tensor cores cannot compute it. `only_equal`: all chunks have the same length, and the
// consumer adds up the partial sums at no extra cost.
std::optional<SplitKReduction> BestSplitK(const poly::FlatContraction& flat,
                                          const HardwareSettings& settings, MatrixFormat format,
                                          const std::vector<bool>& is_constant, bool only_equal);

}  // namespace tartan::plan
