// SPDX-License-Identifier: Apache-2.0
// What a CPU waits for because of the order in which a tile comes to its operands: pages, streams
// and panels. How many bytes move is a matter of memory_cost.h.
#pragma once

#include "tile/plan/cpu/cpu_kernel.h"
#include "tile/plan/cpu/cpu_plan.h"

namespace tartan::plan {

// Cycles of a step in which an access comes to a page that was not there a while ago.
double PageCycles(const CpuKernel& kernel, const CpuPlan& plan, const CpuKernel::Access& access);

// Cycles of a step for rows of vectors beside the first, each of which has to be fetched ahead, and
// for many rows of single elements that the first cache does not hold.
double StreamCycles(const CpuKernel& kernel, const CpuPlan& plan, const CpuKernel::Access& access);

// Each step of a tile goes on in memory where the one before it ended.
bool IsOneStream(const CpuKernel& kernel, const CpuPlan& plan, const CpuKernel::Access& read);

// Cycles of the kernel to wait for matrices whose panels tiles take by turns.
double TurnCycles(const CpuKernel& kernel, const CpuPlan& plan);

// Cycles of the kernel to wait where runs of a reduction leave a matrix in memory and go on
// elsewhere in it.
double BreakCycles(const CpuKernel& kernel, const CpuPlan& plan);

}  // namespace tartan::plan
