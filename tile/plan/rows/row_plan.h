// SPDX-License-Identifier: Apache-2.0
// How a chain of kernels over the same rows is divided: work-items have a block of rows each and
// run the kernels on it one after the other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tile/plan/cpu/cpu_plan.h"
#include "tile/poly/row_block.h"

namespace tartan::plan {

// One kernel of the chain for one block. Its plan's tasks are the whole block.
struct RowStage {
  poly::RowBlock block;
  CpuPlan plan;
};

// An access of a stage's kernel.
struct RowRead {
  int stage = 0;
  int access = 0;
};

// Stages that walk a row together, each doing its tile of it before the next tile is begun: one
// that aggregates what another computes need not read it again.
struct RowLoop {
  std::vector<int> stages;  // ascending
  int64_t length = 0;  // of the row, in steps of `step`; 0: one stage, whose plan has its loops
  int64_t step = 0;
  // Reads of what other memory has of the row, of which the same part of the next row is fetched
  // ahead; of one stage with loops of its own, that stage's.
  std::vector<RowRead> ahead;
};

struct RowPlan {
  std::vector<int64_t> rows;   // range of each row axis
  std::vector<int64_t> block;  // values of each row axis in a block
  int64_t item_blocks = 1;  // that a work-item does, one after the other; the last has what is left
  std::vector<RowStage> stages;
  std::vector<RowLoop> loops;  // in order, each stage in one of them
  double predicted_us = 0;     // of one core, for all blocks

  int64_t BlockCount() const;
  int64_t ItemCount() const;
  // Returns whether a stage surely writes no element of its result twice.
  bool WritesOnce(size_t stage) const;
  std::string ToString() const;  // one line for the blocks, one for each stage and each loop
};

}  // namespace tartan::plan
