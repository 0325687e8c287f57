// The decision how one kernel is divided over work-items and registers. What the plan looks like
// as code is lower's affair.
#pragma once

#include <string>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

struct KernelPlan {
  // For each output index: how many of its values one work-item computes, one after the other.
  std::vector<int64_t> tile;
  // The output index whose tile is held in accumulators side by side inside the reduction loops;
  // -1: one accumulator.
  int register_index = -1;
  // Accumulators are vectors of `lanes` elements where that is more than 1:
  //  - along register_index, of which one work-item computes every value, in tiles of
  //    tile[register_index], the last one drawn back over its predecessor where they do not divide
  //    the range; or
  //  - with vector_reduced, along the last reduced index: partial sums, added up at the end.
  int lanes = 1;
  bool vector_reduced = false;
  // With vectors: another output index whose tile[block_index] values are accumulated together, so
  // that each loaded vector serves several; -1: none.
  int block_index = -1;
  // Work-items in a work-group.
  int64_t threads = 1;

  // Work-items along output index i.
  int64_t TileCount(const poly::FlatContraction& flat, int i) const;
  // Number of work-items that have work.
  int64_t ItemCount(const poly::FlatContraction& flat) const;
  std::string ToString(const poly::FlatContraction& flat) const;
  bool operator==(const KernelPlan&) const = default;
};

// Never fails: a kernel without an advantage to take gets one output element per work-item.
// CPU devices (settings.threads == 1): a work-item is a task of some thousand operations that walks
// its elements in memory order, with the contiguous output index in registers. GPU devices: one
// output element per work-item, neighbours next to each other in memory.
KernelPlan MakePlan(const poly::FlatContraction& flat, const HardwareSettings& settings);

}  // namespace tartan::plan
