// SPDX-License-Identifier: Apache-2.0
// What a plan costs on one core of a CPU: the terms that tell plans apart.
#pragma once

#include <array>
#include <string>

#include "tile/plan/cpu/cpu_kernel.h"
#include "tile/plan/kernel_plan.h"

namespace tartan::plan {

// Cycles of one core for the whole kernel.
struct CpuCost {
  double compute = 0;   // the slowest of arithmetic, loads and waiting for accumulators
  double epilogue = 0;  // storing, loops, joining partial results
  std::array<double, 3> memory = {0, 0, 0};  // moving data into L1, into L2, from main memory
  double imbalance = 1;  // time lost because work-items do not divide evenly among cores

  double total() const;
  std::string ToString() const;
};

// The plan has a copy of what the access reads.
bool IsStaged(const KernelPlan& plan, const CpuKernel::Access& read);
// The register tile alone.
CpuCost ComputeCost(const CpuKernel& kernel, const KernelPlan& plan);
// Adds the terms that depend on tasks, on the order of loops and on the block.
void AddMemoryCost(const CpuKernel& kernel, const KernelPlan& plan, CpuCost* cost);
// The accumulators and operands of the tile fit into registers.
bool FitsRegisters(const CpuKernel& kernel, const KernelPlan& plan);
// Statements of one tile, roughly: drivers take their time to compile long kernels.
double StatementCount(const CpuKernel& kernel, const KernelPlan& plan);

}  // namespace tartan::plan
