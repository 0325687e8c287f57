// SPDX-License-Identifier: Apache-2.0
// Searches a CPU kernel's register tiles, and for each of them the loop order, tasks and cache
// block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/cpu/cpu_blocks.h"
#include "tile/plan/cpu/cpu_cost.h"
#include "tile/plan/cpu/cpu_kernel.h"
#include "tile/plan/cpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

class TileSearch {
 public:
  struct Candidate {
    CpuPlan plan;
    CpuCost cost;
  };

  // Number of register tiles whose loop orders are tried.
  static constexpr size_t kTiles = 4;

  // Keeps references to the arguments.
  TileSearch(const poly::FlatContraction& flat, const HardwareSettings& settings,
             const LaunchContext& launch);

  // Returns the best loop order for each of the `count` best register tiles. If `vector_index` is
  // given, only plans with vectors along its whole range.
  std::vector<Candidate> Plain(size_t count, int vector_index = -1);

  // Returns the best plans with cache blocks, for the tiles that are best without one. Requires a
  // call of Plain.
  std::vector<Candidate> Blocked();

 private:
  // A tile of one point, or of all values of indices that a poly::Choice depends on.
  static CpuPlan StartPlan(const CpuKernel& kernel);

  int64_t Range(int i) const { return flat_.indices[i].range; }
  int IndexCount() const { return static_cast<int>(flat_.indices.size()); }

  // Collects register tiles of one vector index each, with up to two more indices.
  void RegisterTiles(int only);
  // Maximum number of vectors in a tile. The compiler interleaves their computations, and long ones
  // exhaust the registers. Without accumulation, the processor overlaps consecutive vectors anyway.
  int64_t MostVectors() const;
  void Rows(const CpuPlan& plan);
  // Returns whether some read is contiguous along `row` instead of the vector index. Several rows
  // then share the cache lines of the lanes.
  bool IsTransposed(int vector, int row) const;
  void Consider(const CpuPlan& plan);
  void Consider(const CpuPlan& plan, double most_statements);
  // The widest vector that fits the index's range.
  int Lanes(int i) const;
  // False for kernels that record whether an element had a valid point, which a tile does as a
  // whole, and for booleans.
  bool MayVectorize(int i) const;
  bool MayUnroll(int i) const;

  // Returns whether there is enough arithmetic for caches to matter.
  bool IsWorthBlocks(const Candidate& tile) const;
  // Tries loop orders and task sizes for a register tile; with `blocks`, those that have a cache
  // block.
  void Loops(const Candidate& tile, bool blocks);
  // Costs one loop order with whole tasks, and with each of the loops `cut` divided.
  void Order(const Candidate& tile, std::vector<int> order, const std::vector<int>& cut,
             bool blocks);
  // False if a window needs the loop over output index i to cover the whole range, so that border
  // tiles are known.
  bool MayCut(const CpuPlan& plan, int i) const;
  // Divides the outermost loops until every core has work.
  void Tasks(CpuPlan plan, const CpuCost& cost, bool blocks);
  void Cost(const CpuPlan& plan, CpuCost cost);

  const poly::FlatContraction& flat_;
  const CpuKernel kernel_;
  const CpuPlan scalar_;
  const BlockChoices choices_;
  std::vector<Candidate> tiles_;
  std::vector<Candidate> plain_;  // best plan of each tile without a block
  Candidate best_;
};

}  // namespace tartan::plan
