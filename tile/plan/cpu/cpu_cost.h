// SPDX-License-Identifier: Apache-2.0
// What a plan costs on one core of a CPU: the terms that tell plans apart.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "tile/plan/machine.h"

namespace tartan::plan {

// Cycles of one core for the whole kernel.
struct CpuCost {
  double compute = 0;   // the slowest of arithmetic, loads and waiting for accumulators
  double epilogue = 0;  // storing, loops, joining partial results
  std::array<double, 3> memory = {0, 0, 0};  // moving data into L1, into L2, from main memory
  // Shares of the first of these, and of the others, that are not hidden behind the rest.
  double left_of_l1 = cpu::Core().left_of_l1;
  double left_beyond = cpu::Core().left_beyond;
  double imbalance = 1;  // time lost because work-items do not divide evenly among cores

  // Bytes that are moved once, in streams that the processor fetches ahead: nothing is left over of
  // their time beside the rest.
  void AddStreams(double bytes, double bytes_per_cycle);

  // `items` work-items of equal work on so many cores; 0 cores: one.
  void DivideAmong(int64_t cores, int64_t items);

  double total() const;
  std::string ToString() const;
};

}  // namespace tartan::plan
