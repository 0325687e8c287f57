// SPDX-License-Identifier: Apache-2.0
// The part of a CPU plan's cost that depends on tasks, loop order and cache blocks: bytes moved
// between caches.
#pragma once

#include "tile/plan/cpu/cpu_cost.h"
#include "tile/plan/cpu/cpu_kernel.h"
#include "tile/plan/cpu_plan.h"

namespace tartan::plan {

// Adds the memory terms, and the epilogue's memory-related cycles, to the register tile's cost.
void AddMemoryCost(const CpuKernel& kernel, const CpuPlan& plan, CpuCost* cost);

}  // namespace tartan::plan
