// SPDX-License-Identifier: Apache-2.0
// The best register tiles of a kernel on CPU devices, and of each the best order of loops, tasks
// and blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/cpu/cpu_blocks.h"
#include "tile/plan/cpu/cpu_cost.h"
#include "tile/plan/cpu/cpu_kernel.h"
#include "tile/plan/cpu/cpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

class TileSearch {
 public:
  struct Candidate {
    CpuPlan plan;
    CpuCost cost;
  };

  // Register tiles whose loops are looked at.
  static constexpr size_t kTiles = 4;

  // The arguments outlive the object.
  TileSearch(const poly::FlatContraction& flat, const HardwareSettings& settings);

  // The best order of loops for each of the `count` best register tiles. With `vector_index` given,
  // only plans with vectors along the whole of it.
  std::vector<Candidate> Plain(size_t count, int vector_index = -1);

  // The same with blocks of the tiles that are best without, where they may be worth it. After
  // Plain.
  std::vector<Candidate> Blocked();

 private:
  // Nothing side by side but what a choice tells apart.
  static CpuPlan StartPlan(const CpuKernel& kernel);

  int64_t Range(int i) const { return flat_.indices[i].range; }
  int IndexCount() const { return static_cast<int>(flat_.indices.size()); }

  // Tiles of one vector index each, with up to two more indices in registers.
  void RegisterTiles(int only);
  // The compiler interleaves what is done to vectors side by side: with much to do, registers run
  // short. Where nothing is accumulated the processor overlaps one vector after the other anyway.
  int64_t MostVectors() const;
  void Rows(const CpuPlan& plan);
  // Some read has its neighbours along `row`, not along the vector: a block of rows uses the cache
  // lines that the vector's lanes lie in.
  bool IsTransposed(int vector, int row) const;
  void Consider(const CpuPlan& plan);
  void Consider(const CpuPlan& plan, double most_statements);
  // The widest vector that fits the index's range.
  int Lanes(int i) const;
  // What an element had of valid points is noted for a tile as a whole; flags are no vectors.
  bool MayVectorize(int i) const;
  bool MayUnroll(int i) const;

  // There is enough arithmetic for caches to matter.
  bool IsWorthBlocks(const Candidate& tile) const;
  // The order of loops and the size of tasks for one register tile; with blocks, those that have
  // one.
  void Loops(const Candidate& tile, bool blocks);
  // Whole tasks, and one of the loops `cut` in parts.
  void Order(const Candidate& tile, std::vector<int> order, const std::vector<int>& cut,
             bool blocks);
  // The edges of windows are told where a work-item walks the whole range.
  bool MayCut(const CpuPlan& plan, int i) const;
  // Cuts the outermost loops until there is work for every core.
  void Tasks(CpuPlan plan, const CpuCost& cost, bool blocks);
  void Cost(const CpuPlan& plan, CpuCost cost);

  const poly::FlatContraction& flat_;
  const CpuKernel kernel_;
  const CpuPlan scalar_;
  const BlockChoices choices_;
  std::vector<Candidate> tiles_;
  std::vector<Candidate> plain_;  // the best of each tile without a block
  Candidate best_;
};

}  // namespace tartan::plan
