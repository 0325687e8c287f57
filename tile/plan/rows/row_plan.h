// SPDX-License-Identifier: Apache-2.0
// The row fusion plan of CPUs: a work-item has a block of rows and runs all kernels on it in
// sequence.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tile/plan/cpu_plan.h"
#include "tile/poly/row_block.h"

namespace tartan::plan {

// One kernel for one block. The tasks of its plan are the whole block.
struct RowStage {
  poly::RowBlock block;
  CpuPlan plan;
};

// An access of a stage's kernel.
struct RowRead {
  int stage = 0;
  int access = 0;
};

// Stages that share a loop over a row, each computing its tile before the next tile begins. A stage
// that aggregates another one's result then reads it from registers.
struct RowLoop {
  std::vector<int> stages;  // ascending
  int64_t length = 0;       // of the row; 0: a single stage, whose plan has its own loops
  int64_t step = 0;
  // Reads of tensors from other kernels, whose same part of the next row is prefetched. For a
  // single stage with its own loops, its reads.
  std::vector<RowRead> ahead;
};

struct RowPlan {
  std::vector<int64_t> rows;   // range of each row axis
  std::vector<int64_t> block;  // values of each row axis in a block
  int64_t item_blocks = 1;     // blocks per work-item; the last work-item may have fewer
  std::vector<RowStage> stages;
  std::vector<RowLoop> loops;  // in execution order; each stage is in one loop
  double predicted_us = 0;     // one core, all blocks

  int64_t BlockCount() const;
  int64_t ItemCount() const;
  // Returns whether the stage provably writes no element of its result twice.
  bool WritesEachElementOnce(size_t stage) const;
  std::string ToString() const;  // one line for the blocks, one per stage, one per loop
  std::string CostText() const;  // a line to append: the predicted time
};

}  // namespace tartan::plan
