// SPDX-License-Identifier: Apache-2.0
// Plans for elementwise kernels on CPUs that read along one index and write along another:
// transposes, changes of layout, packing.
#pragma once

#include <optional>

#include "tile/plan/cpu/cpu_kernel.h"
#include "tile/plan/cpu/cpu_plan.h"
#include "tile/plan/kernel_plan.h"

namespace tartan::plan {

// Tiles of squares that are loaded along one index, transposed in registers and stored along the
// other; nothing where the kernel does not mostly read that way.
std::optional<PlannedKernel> TransposePlan(const poly::FlatContraction& flat,
                                           const HardwareSettings& settings);

// The plan's tile is one of squares, whose number of vectors the registers need not hold at a time.
bool IsTransposingTile(const CpuKernel& kernel, const CpuPlan& plan);

}  // namespace tartan::plan
