// SPDX-License-Identifier: Apache-2.0
// Proposes plans of GEMMs of few rows by constant weights (few_rows_plan.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/kernel_plan.h"

namespace tartan::plan {

// Both functions return nothing unless the kernel is a float32 GEMM of at most four rows by
// constants, and the device supports persistent megakernels. `is_constant[t]`: no run changes
// tensor t.

// Plans a kernel with its weights packed as [block] [K] [column] (RowStreamPlan). Empty unless:
// - the weights have `least_bytes` or more; smaller ones stay in L2;
// - a block of weights fits local memory.
std::optional<PlannedKernel> RowStreamCandidate(const poly::FlatContraction& flat,
                                                const HardwareSettings& settings,
                                                const std::vector<bool>& is_constant,
                                                int64_t least_bytes = 1 << 20);

// Plans a kernel as one persistent work-group, for consecutive launches (PersistentPlan). It may
// have accumulators (FlatContraction::accumulator_index). Empty unless registers and local memory
// hold the weights. `is_next(tensor, output)`: the next launch probably reads `output` of this one
// as `tensor`; both are positions.
std::optional<PlannedKernel> PersistentCandidate(
    const poly::FlatContraction& flat, const HardwareSettings& settings,
    const std::vector<bool>& is_constant,
    const std::function<bool(int tensor, int output)>& is_next);

}  // namespace tartan::plan
