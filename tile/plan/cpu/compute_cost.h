// SPDX-License-Identifier: Apache-2.0
// What the register tile of a CPU plan costs by itself, and what keeps a tile from being one.
#pragma once

#include "tile/plan/cpu/cpu_cost.h"
#include "tile/plan/cpu/cpu_kernel.h"
#include "tile/plan/cpu/cpu_plan.h"

namespace tartan::plan {

// The register tile alone.
CpuCost ComputeCost(const CpuKernel& kernel, const CpuPlan& plan);
// The accumulators and operands of the tile fit into registers.
bool FitsRegisters(const CpuKernel& kernel, const CpuPlan& plan);
// Statements of one tile, roughly: drivers take their time to compile long kernels.
double StatementCount(const CpuKernel& kernel, const CpuPlan& plan);

}  // namespace tartan::plan
