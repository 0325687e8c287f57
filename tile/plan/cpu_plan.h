// SPDX-License-Identifier: Apache-2.0
// The CPU plan: how a kernel is divided into tasks, loops and register tiles.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// A cache block: the loops of a work-item from `level` of its order on, with private memory. All
// tiles of the block are computed for one K chunk before the next, so that a chunk's operands stay
// in a cache. Accumulators wait in private memory between chunks.
struct BlockPlan {
  int level = 0;
  int chunk_index = -1;      // reduced index that is divided into K chunks; -1: none
  int64_t chunk_length = 0;  // length of a K chunk, less than the index's range
  std::vector<int> staged;   // accesses staged per block and chunk, ascending

  bool operator==(const BlockPlan&) const = default;
};

// A work-item computes a box of outputs: task[i] values of each output index i. It iterates over
// the box in register tiles of unroll[i] values per index. Each value has its own accumulator, or
// `lanes` values along vector_index share one. If unroll[i] does not divide the range, the last
// tile overlaps the one before it.
struct CpuPlan {
  std::vector<int64_t> task;  // per output index; a multiple of unroll[i], or the whole range
  // Per index. For a reduced index other than vector_index: 1, or its whole range
  // (tile/plan/cpu/sliding_window.h).
  std::vector<int64_t> unroll;
  std::vector<int> order;  // loops of a work-item over output indices, outermost first
  // Loops over reduced indices, outermost first; fully unrolled indices have none. A reduced
  // vector_index is the last: its accumulators hold partial results, which are reduced at the end.
  std::vector<int> reduction_order;
  int vector_index = -1;
  int lanes = 1;
  // If conditions of the output expressions differ between lanes, vectors compute both sides and
  // select. Otherwise such tiles are computed lane by lane.
  bool masks_lanes = false;
  // Cache block; only for reductions whose vector_index is no reduced index.
  std::optional<BlockPlan> block;
  // Work-items per work-group.
  int64_t threads = 1;

  // Number of tasks along output index i.
  int64_t TaskCount(const poly::FlatContraction& flat, int i) const;
  // Returns whether no output element is written twice, that is, no tile overlaps another.
  bool WritesEachElementOnce(const poly::FlatContraction& flat) const;
  // Number of work-items with work.
  int64_t ItemCount(const poly::FlatContraction& flat) const;
  std::string ToString(const poly::FlatContraction& flat) const;
  bool operator==(const CpuPlan&) const = default;
};

// A plan of one output element per work-item without vectors. It is valid for every kernel on every
// device.
CpuPlan ScalarPlan(const poly::FlatContraction& flat, int64_t threads);

}  // namespace tartan::plan
