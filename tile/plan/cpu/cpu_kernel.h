// SPDX-License-Identifier: Apache-2.0
// What the cost model of CPUs needs of a kernel, gathered once for all the plans tried.
#pragma once

#include <cstdint>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/machine.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

struct CpuKernel {
  struct Access {
    std::vector<int64_t> strides;  // per index, in elements
    int64_t bytes = 4;             // of an element
    // The indices along which neighbouring lanes cannot be read together: a condition or a computed
    // coordinate depends on them.
    std::vector<bool> irregular;
    bool in_body = true;
    int access = -1;                  // its position in flat.accesses; -1: at computed coordinates
    std::vector<int> by_stride = {};  // the indices that move it, the least distance first
  };

  CpuKernel(const poly::FlatContraction& flat, const HardwareSettings& settings);

  const poly::FlatContraction& flat;
  const HardwareSettings& settings;
  const Machine machine;
  std::vector<Access> reads;
  std::vector<Access> writes;
  double body_operations = 0;                         // vector instructions for a vector of results
  double accumulate_cycles = cpu::kAccumulateCycles;  // from one addition to a sum to the next
  double epilogue_operations = 0;                     // for all outputs together
  // Conditions or coordinates that differ along the index, which vectors compute lane by lane.
  std::vector<int> body_irregular;
  std::vector<int> epilogue_irregular;
  // The share of elements at which all conditions of the epilogue hold that differ along the index.
  std::vector<double> epilogue_inside;
  std::vector<bool> constrained;  // an index that a constraint of the reduction depends on
  std::vector<bool> chosen;       // an index that a choice depends on: plans unroll all of it
  int64_t element_bytes = 4;      // of what is computed with
  // Small windows that reads slide by, where nothing else is reduced: what neighbouring outputs
  // share of them can be loaded once.
  struct Window {
    int output = 0;
    int reduced = 0;
  };
  std::vector<Window> windows;
  // The machine's, but for kernels that compute little with each element, which hide nothing.
  cpu::Core core;
  double registers = 16;  // vectors that a core holds
};

// The elements that an access reads or writes, each counted once: those of all indices that move
// it.
double ElementCount(const poly::FlatContraction& flat, const CpuKernel::Access& access);

// Some index is chosen by.
bool HasChoices(const CpuKernel& kernel);

}  // namespace tartan::plan
