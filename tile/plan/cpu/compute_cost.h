// SPDX-License-Identifier: Apache-2.0
// Cost of a CPU plan's register tile, and limits on its size.
#pragma once

#include "tile/plan/cpu/cpu_cost.h"
#include "tile/plan/cpu/cpu_kernel.h"
#include "tile/plan/cpu_plan.h"

namespace tartan::plan {

// Cost of the register tile: compute and epilogue terms, without memory traffic.
CpuCost ComputeCost(const CpuKernel& kernel, const CpuPlan& plan);
// Returns whether the tile's accumulators and operands fit the vector registers.
bool FitsRegisters(const CpuKernel& kernel, const CpuPlan& plan);
// Estimated number of statements of one tile, which determines the compile time.
double StatementCount(const CpuKernel& kernel, const CpuPlan& plan);

}  // namespace tartan::plan
