// SPDX-License-Identifier: Apache-2.0
// CPU plans for elementwise kernels that read along one index and write along another: transposes,
// layout changes, packing.
#pragma once

#include <optional>

#include "tile/plan/cpu/cpu_kernel.h"
#include "tile/plan/cpu_plan.h"
#include "tile/plan/kernel_plan.h"

namespace tartan::plan {

// Plans square tiles that are loaded along one index, transposed in registers and stored along the
// other. Empty if most reads are not transposed.
std::optional<PlannedKernel> TransposePlan(const poly::FlatContraction& flat,
                                           const HardwareSettings& settings);

// Returns whether the plan's tile is such a square. Its vectors need not fit the registers at the
// same time.
bool IsTransposingTile(const CpuKernel& kernel, const CpuPlan& plan);

}  // namespace tartan::plan
