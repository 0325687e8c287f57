// SPDX-License-Identifier: Apache-2.0
// Turns a CPU plan and its cost into a proposal for select_plan.
#pragma once

#include <utility>

#include "tile/plan/cpu/cpu_cost.h"
#include "tile/plan/cpu/cpu_kernel.h"
#include "tile/plan/kernel_plan.h"

namespace tartan::plan {

// Proposes a plan for the kernel as it is, without packed operands.
inline PlannedKernel Propose(const CpuKernel& kernel, CpuPlan plan, const CpuCost& cost) {
  return {
      kernel.flat, std::move(plan), {}, kernel.machine.Microseconds(cost.total()), cost.ToString()};
}

}  // namespace tartan::plan
