// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/cpu/propose.h"

#include <utility>

namespace tartan::plan {

PlannedKernel Propose(const CpuKernel& kernel, CpuPlan plan, const CpuCost& cost) {
  return {
      kernel.flat, std::move(plan), {}, kernel.machine.Microseconds(cost.total()), cost.ToString()};
}

}  // namespace tartan::plan
