// SPDX-License-Identifier: Apache-2.0
// What a planner of CPUs hands to select_plan.
#pragma once

#include <utility>

#include "tile/plan/cpu/cpu_cost.h"
#include "tile/plan/cpu/cpu_kernel.h"
#include "tile/plan/kernel_plan.h"

namespace tartan::plan {

// The plan of the kernel as it is, nothing packed, with its cost in microseconds and in words.
inline PlannedKernel Propose(const CpuKernel& kernel, CpuPlan plan, const CpuCost& cost) {
  return {
      kernel.flat, std::move(plan), {}, kernel.machine.Microseconds(cost.total()), cost.ToString()};
}

}  // namespace tartan::plan
