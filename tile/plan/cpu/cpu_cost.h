// SPDX-License-Identifier: Apache-2.0
// What a plan costs on one core of a CPU: the terms that tell plans apart.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace tartan::plan {

// Cycles of one core for the whole kernel.
struct CpuCost {
  double compute = 0;   // the slowest of arithmetic, loads and waiting for accumulators
  double epilogue = 0;  // storing, loops, joining partial results
  std::array<double, 3> memory = {0, 0, 0};  // moving data into L1, into L2, from main memory
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
