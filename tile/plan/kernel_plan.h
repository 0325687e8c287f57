// SPDX-License-Identifier: Apache-2.0
// The decision how one kernel is divided over work-items, loops and registers. What the plan looks
// like as code is lower's affair.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/gpu/group_plan.h"
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
struct KernelPlan {
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
  // On devices with work-items for lanes: the kernel is made from this, and nothing above counts.
  std::optional<GroupPlan> group;

  // Work-items along output index i.
  int64_t TaskCount(const poly::FlatContraction& flat, int i) const;
  // Number of work-items that have work.
  int64_t ItemCount(const poly::FlatContraction& flat) const;
  std::string ToString(const poly::FlatContraction& flat) const;
  bool operator==(const KernelPlan&) const = default;
};

// One output element per work-item and no vectors: right for every kernel on every device.
KernelPlan ScalarPlan(const poly::FlatContraction& flat, int64_t threads);

// A tensor of the kernel that another kernel computes ahead. It is a copy of one tensor's elements
// in another order (the copy's only tensor stands for `source`), or partial results of a reduction
// (then `source` is kNoValue, and the tensors read have values of their own).
struct PackedOperand {
  int tensor = 0;  // position in `flat.tensors`, where it has no value
  ir::ValueId source = ir::kNoValue;
  poly::FlatContraction copy;
  // The arguments of poly::PackRead that it was made with.
  int access = 0;
  int index = 0;
  int64_t block = 1;
};

// A kernel in the form it is generated from.
struct PlannedKernel {
  poly::FlatContraction flat;
  KernelPlan plan;
  std::vector<PackedOperand> packed;
  double predicted_us = 0;   // by the cost model; 0 where there is none
  std::string cost;          // its terms, for dumps
  bool is_unrolled = false;  // `flat` is poly::Unroll of the kernel
};

}  // namespace tartan::plan
