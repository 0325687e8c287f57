// SPDX-License-Identifier: Apache-2.0
// Cost of a CPU plan in cycles of one core, by terms.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "tile/plan/machine.h"

namespace tartan::plan {

// Cycles of one core for the whole kernel.
struct CpuCost {
  double compute = 0;                        // maximum of arithmetic, loads and accumulator latency
  double epilogue = 0;                       // stores, loop overhead, reduction of partial results
  std::array<double, 3> memory = {0, 0, 0};  // cycles to fill L1, to fill L2, to read main memory
  // Shares of memory[0], and of memory[1] and memory[2], that other work does not hide.
  double exposed_l1 = cpu::Core().exposed_l1;
  double exposed_beyond_l1 = cpu::Core().exposed_beyond_l1;
  double imbalance = 1;  // factor: idle time of cores if work-items do not divide evenly

  // Adds the traffic of prefetched streams that are read once. Other work hides it completely.
  void AddStreams(double bytes, double bytes_per_cycle);

  // Divides the cost of `items` equal work-items among `cores` cores; 0 means one core.
  void DivideAmong(int64_t cores, int64_t items);

  double total() const;
  std::string ToString() const;
};

}  // namespace tartan::plan
