// SPDX-License-Identifier: Apache-2.0
// How a kernel is divided where work-items are tasks: over work-items, loops and registers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// The loops of a work-item from `level` of its order on, as a block with private memory. All tiles
// of the block are computed for one run of a reduced index before the next, so that what a run
// reads stays in a cache; between runs a tile's accumulators wait in memory.
struct BlockPlan {
  int level = 0;
  int run_index = -1;       // reduced index; -1: it is not divided, and the block is walked once
  int64_t run = 0;          // its values in a run, fewer than its range
  std::vector<int> staged;  // accesses whose elements are copied for the block and run, ascending

  bool operator==(const BlockPlan&) const = default;
};

// A work-item computes a box of output elements, task[i] values of each output index i, and walks
// it in register tiles: unroll[i] values of each index i side by side, those of output indices and
// of vector_index each in an accumulator of its own, or `lanes` of them in one along vector_index.
// Where unroll[i] does not divide an output index's range, its last tile is drawn back over its
// neighbour.
struct CpuPlan {
  std::vector<int64_t> task;  // per output index; a multiple of unroll[i], or the whole range
  // Per index; of a reduced one but vector_index 1, or all of its values
  // (tile/plan/cpu/sliding_window.h).
  std::vector<int64_t> unroll;
  std::vector<int> order;  // the loops of a work-item over output indices, outermost first
  // The loops over reduced indices, outermost first, where those unrolled have none; vector_index,
  // where reduced, is the last: its accumulators are partial results, joined at the end.
  std::vector<int> reduction_order;
  int vector_index = -1;
  int lanes = 1;
  // Where conditions in the outputs' expressions differ between lanes, vectors compute both sides
  // and choose. Without, such tiles are computed lane by lane.
  bool masks_lanes = false;
  // Of a reduction without a reduced vector_index.
  std::optional<BlockPlan> block;
  // Work-items in a work-group.
  int64_t threads = 1;

  // Work-items along output index i.
  int64_t TaskCount(const poly::FlatContraction& flat, int i) const;
  // No output element is written twice: no tile is drawn back.
  bool WritesOnce(const poly::FlatContraction& flat) const;
  // Number of work-items that have work.
  int64_t ItemCount(const poly::FlatContraction& flat) const;
  std::string ToString(const poly::FlatContraction& flat) const;
  bool operator==(const CpuPlan&) const = default;
};

// One output element per work-item and no vectors: right for every kernel on every device.
CpuPlan ScalarPlan(const poly::FlatContraction& flat, int64_t threads);

}  // namespace tartan::plan
