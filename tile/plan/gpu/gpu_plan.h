// SPDX-License-Identifier: Apache-2.0
// The decision how a kernel runs on a device whose work-items are lanes (GPUs): each work-group
// computes a box of output elements, walking the reduced indices in steps; inputs with reuse are
// staged in local memory, accumulators are in registers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tile/plan/gpu/tile_layout.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// The values of an index within a tile: (block * threads + thread) * vector + lane, for as many
// blocks as a work-item has registers (output indices) or iterations of its inner loop (reduced
// ones).
struct IndexSplit {
  int64_t vector = 1;
  int64_t threads = 1;
  int64_t blocks = 1;

  int64_t tile() const { return vector * threads * blocks; }
  // Values per work-item.
  int64_t held() const { return vector * blocks; }
  bool operator==(const IndexSplit&) const = default;
};

// `count` neighbouring work-items differ in the index.
struct ThreadPart {
  int index;
  int64_t count;
  bool operator==(const ThreadPart&) const = default;
};

// An access whose tile is copied into local memory at every step.
struct StagedAccess {
  int access = 0;  // of the kernel's accesses
  TileLayout layout;
  // What lies outside of the constraints reads as this value; without one it reads as anything.
  std::optional<double> fill;
  // Those of the kernel's constraints that filling takes care of, by number.
  std::vector<int> absorbed;
  // The index along which work-items read vectors from the tile, -1: single elements.
  int vector_index = -1;
  // The tensor is in local memory already, and is read there as it lies.
  bool is_there = false;
  bool operator==(const StagedAccess&) const = default;
};

// The terms of a plan's cost.
struct GroupCost {
  double flops = 0;         // of the whole kernel
  double groups = 0;        // work-groups
  double steps = 0;         // of each group
  double group_bytes = 0;   // read and written by one group through the L2 cache
  double dram_bytes = 0;    // by the kernel, with what caches catch taken off
  double local_bytes = 0;   // of local memory per group
  double local_reads = 0;   // local memory instructions per multiply-add
  double registers = 0;     // 32-bit, per work-item
  double occupancy = 0;     // work-items per compute unit, of those it can hold
  double waste = 1;         // work done / work that counts: edges and idle lanes
  double microseconds = 0;  // what the model makes of it
  std::string ToString() const;
  bool operator==(const GroupCost&) const = default;
};

// Which of the loops over blocks of reduced indices are unrolled.
struct Unrolling {
  std::vector<int> loops;  // the reduced indices with several blocks, outermost first
  int from = 0;            // the loops from here on are unrolled,
  int64_t iterations = 1;  // and so many iterations of the one around them
  int64_t rounds = 1;      // of what is left
};

// How a step's tiles come to local memory.
enum class Buffering : uint8_t {
  kNone,       // when it begins
  kRegisters,  // on their way into registers while the step before is computed, then put there
  kCopies,     // into a second set of tiles meanwhile, by copies that pass through no register
};

struct GpuPlan {
  std::vector<IndexSplit> splits;        // per index
  std::vector<ThreadPart> thread_parts;  // those of the lowest work-items first
  std::vector<int> grid_order;  // output indices; the first varies fastest over work-groups
  std::vector<int> step_order;  // reduced indices; the first varies fastest over steps
  std::vector<StagedAccess> staged;
  // The index along which values are computed in vectors of splits[…].vector lanes: an output index
  // (vector stores), or a reduced one (whose lanes are then aggregated); -1: scalars.
  int lane_index = -1;
  Buffering buffering = Buffering::kNone;
  GroupCost cost;

  int64_t threads() const;
  int64_t tile_sets() const { return buffering == Buffering::kCopies ? 2 : 1; }
  // Values of an index that a work-item has, those of a vector of lanes counted once.
  int64_t OwnCount(int index) const;
  // Work-items that share an output element, and aggregate their partial results at the end.
  int64_t partial_threads(const poly::FlatContraction& flat) const;
  int64_t GroupCount(const poly::FlatContraction& flat) const;
  int64_t StepCount(const poly::FlatContraction& flat) const;
  std::vector<int64_t> Tile() const;
  Unrolling Unroll(const poly::FlatContraction& flat) const;
  std::string ToString(const poly::FlatContraction& flat) const;
  bool operator==(const GpuPlan&) const = default;
};

// When a point of a tiling is valid: the kernel's constraints, then the ranges of reduced indices
// that their tiles do not divide.
std::vector<math::RangeConstraint> TileConstraints(const poly::FlatContraction& flat,
                                                   const std::vector<int64_t>& tile);

}  // namespace tartan::plan
