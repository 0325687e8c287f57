// SPDX-License-Identifier: Apache-2.0
// The part of a CPU plan's cost that depends on tasks, on the order of loops and on blocks: bytes
// that move between caches.
#pragma once

#include "tile/plan/cpu/cpu_cost.h"
#include "tile/plan/cpu/cpu_kernel.h"
#include "tile/plan/cpu/cpu_plan.h"

namespace tartan::plan {

// Adds it to what the register tile costs.
void AddMemoryCost(const CpuKernel& kernel, const CpuPlan& plan, CpuCost* cost);

}  // namespace tartan::plan
