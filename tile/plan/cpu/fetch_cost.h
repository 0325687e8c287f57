// SPDX-License-Identifier: Apache-2.0
// Stall cycles of a CPU plan that depend on the order of memory accesses: TLB misses, streams that
// are not prefetched, and panels read alternately. memory_cost.h counts the bytes.
#pragma once

#include "tile/plan/cpu/cpu_kernel.h"
#include "tile/plan/cpu_plan.h"

namespace tartan::plan {

// Cycles per loop step for an access that moves to a page not touched recently.
double PageCycles(const CpuKernel& kernel, const CpuPlan& plan, const CpuKernel::Access& access);

// Cycles per loop step for the vector rows of an access after the first, each of which is one more
// stream to prefetch. Also covers many rows of single elements that exceed L1.
double StreamCycles(const CpuKernel& kernel, const CpuPlan& plan, const CpuKernel::Access& access);

// Returns whether consecutive loop steps of a tile read consecutive memory.
bool IsOneStream(const CpuKernel& kernel, const CpuPlan& plan, const CpuKernel::Access& read);

// Cycles of the whole kernel to reload matrices whose panels tiles read alternately.
double PanelReloadCycles(const CpuKernel& kernel, const CpuPlan& plan);

// Cycles of the whole kernel to restart prefetching after each K chunk, which continues elsewhere
// in a matrix in memory.
double PrefetchRestartCycles(const CpuKernel& kernel, const CpuPlan& plan);

}  // namespace tartan::plan
