// SPDX-License-Identifier: Apache-2.0
// The tiled GPU plan: a work-group computes a box of outputs and iterates over the reduced indices
// in steps. Inputs with reuse are staged in local memory; accumulators are in registers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tile/plan/tile_layout.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Values of an index within a tile: (block * threads + thread) * vector + lane. Blocks of output
// indices are in a work-item's registers; blocks of reduced indices are iterations of its inner
// loop.
struct IndexSplit {
  int64_t vector = 1;
  int64_t threads = 1;
  int64_t blocks = 1;

  int64_t tile() const { return vector * threads * blocks; }
  // Values per work-item.
  int64_t held() const { return vector * blocks; }
  bool operator==(const IndexSplit&) const = default;
};

// `count` adjacent work-items with different values of the index.
struct ThreadPart {
  int index;
  int64_t count;
  bool operator==(const ThreadPart&) const = default;
};

// An access whose tile is copied into local memory in every step.
struct StagedAccess {
  int access = 0;  // position in flat.accesses
  TileLayout layout;
  // Value that elements outside of the constraints read as; if empty, they may read as any value.
  std::optional<double> fill;
  // Constraints of the kernel, by number, that filling replaces.
  std::vector<int> absorbed;
  // Index along which work-items read vectors from the tile; -1: single elements.
  int vector_index = -1;
  // The tensor is already in local memory and is read there without a copy.
  bool is_there = false;
  bool operator==(const StagedAccess&) const = default;
};

// Terms of a plan's cost.
struct GroupCost {
  double flops = 0;         // floating-point operations of the whole kernel
  double groups = 0;        // work-groups
  double steps = 0;         // steps per work-group
  double group_bytes = 0;   // bytes through L2 per work-group
  double dram_bytes = 0;    // bytes from and to memory, after caches
  double local_bytes = 0;   // bytes of local memory per work-group
  double local_reads = 0;   // local memory instructions per multiply-add
  double registers = 0;     // 32-bit registers per work-item
  double occupancy = 0;     // resident work-items, share of the compute unit's maximum
  double waste = 1;         // ratio of executed to useful work: partial tiles, idle lanes
  double microseconds = 0;  // predicted time
  std::string ToString() const;
  bool operator==(const GroupCost&) const = default;
};

// Unrolling of the loops over blocks of reduced indices.
struct Unrolling {
  std::vector<int> loops;  // reduced indices with several blocks, outermost first
  int from = 0;            // first of `loops` that is unrolled completely
  int64_t iterations = 1;  // unrolled iterations of the loop around these
  int64_t rounds = 1;      // iterations of the loops that remain
};

// Ways to load a step's tiles into local memory.
enum class Buffering : uint8_t {
  kNone,         // loaded when the step begins
  kRegisters,    // prefetched into registers during the preceding step
  kAsyncCopies,  // copied asynchronously into a second buffer during the preceding step
};

struct GpuPlan {
  std::vector<IndexSplit> splits;        // per index
  std::vector<ThreadPart> thread_parts;  // lowest work-items first
  std::vector<int> grid_order;           // output indices, fastest over work-groups first
  std::vector<int> step_order;           // reduced indices, fastest over steps first
  std::vector<StagedAccess> staged;
  // Index along which values are computed in vectors of splits[lane_index].vector lanes. An output
  // index gives vector stores, a reduced index lanes that are aggregated at the end; -1: scalars.
  int lane_index = -1;
  Buffering buffering = Buffering::kNone;
  GroupCost cost;

  int64_t threads() const;
  int64_t tile_buffer_count() const { return buffering == Buffering::kAsyncCopies ? 2 : 1; }
  // Values of an index per work-item; the lanes of a vector count as one value.
  int64_t OwnCount(int index) const;
  // Work-items that share an output element and aggregate their partial results at the end.
  int64_t partial_threads(const poly::FlatContraction& flat) const;
  int64_t GroupCount(const poly::FlatContraction& flat) const;
  int64_t StepCount(const poly::FlatContraction& flat) const;
  std::vector<int64_t> Tile() const;
  Unrolling Unroll(const poly::FlatContraction& flat) const;
  std::string ToString(const poly::FlatContraction& flat) const;
  bool operator==(const GpuPlan&) const = default;
};

// Conditions under which a point of a tiling is valid: the kernel's constraints, then the ranges of
// reduced indices that their tiles do not divide.
std::vector<math::RangeConstraint> TileConstraints(const poly::FlatContraction& flat,
                                                   const std::vector<int64_t>& tile);

}  // namespace tartan::plan
