// SPDX-License-Identifier: Apache-2.0
// Enumerates the cache blocks (BlockPlan) of a CPU plan that the search costs.
#pragma once

#include <functional>
#include <vector>

#include "tile/plan/cpu/cpu_kernel.h"
#include "tile/plan/cpu_plan.h"

namespace tartan::plan {

// Choices for the blocks of a kernel, the same for all its plans.
struct BlockChoices {
  struct Chunk {
    int index = -1;
    int64_t length = 0;
  };
  std::vector<Chunk> chunks;             // K chunks to try; the first means an undivided reduction
  std::vector<std::vector<int>> staged;  // sets of staged accesses to try; the first is empty

  explicit BlockChoices(const poly::FlatContraction& flat);
};

// Calls `consider` with the plan without a block and with each block, including blocks that exceed
// private memory.
void TryBlocks(const CpuKernel& kernel, const BlockChoices& choices, CpuPlan plan,
               const std::function<void(const CpuPlan&)>& consider);

}  // namespace tartan::plan
