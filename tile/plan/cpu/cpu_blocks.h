// SPDX-License-Identifier: Apache-2.0
// Which blocks (BlockPlan) of a CPU plan are worth costing.
#pragma once

#include <functional>
#include <vector>

#include "tile/plan/cpu/cpu_kernel.h"
#include "tile/plan/cpu/cpu_plan.h"

namespace tartan::plan {

// What the blocks of a kernel are made of, found once for all its plans.
struct BlockChoices {
  struct Run {
    int index = -1;
    int64_t length = 0;
  };
  std::vector<Run> runs;                 // the first is none
  std::vector<std::vector<int>> staged;  // sets of accesses; the first is empty

  explicit BlockChoices(const poly::FlatContraction& flat);
};

// Calls `consider` with the plan and each of its blocks, also those too large for private memory.
void TryBlocks(const CpuKernel& kernel, const BlockChoices& choices, CpuPlan plan,
               const std::function<void(const CpuPlan&)>& consider);

}  // namespace tartan::plan
