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
  // Work-items in a work-group.
  int64_t threads = 1;

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
