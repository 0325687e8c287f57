// SPDX-License-Identifier: Apache-2.0
// Properties of a kernel that the CPU cost model needs, computed once for all candidate plans.
#pragma once

#include <cstdint>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/launch_context.h"
#include "tile/plan/machine.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

struct CpuKernel {
  struct Access {
    std::vector<int64_t> strides;  // elements per index value, per index
    int64_t bytes = 4;             // bytes per element
    // Per index: adjacent lanes along it cannot be read as a vector, because a condition or a
    // computed coordinate depends on it.
    std::vector<bool> irregular;
    bool in_body = true;
    int access = -1;                  // position in flat.accesses; -1: computed coordinates
    std::vector<int> by_stride = {};  // indices that move it, ascending by stride
  };

  CpuKernel(const poly::FlatContraction& flat, const HardwareSettings& settings,
            const LaunchContext& launch = {});

  const poly::FlatContraction& flat;
  const HardwareSettings& settings;
  const LaunchContext launch;
  const Machine machine;
  std::vector<Access> reads;
  std::vector<Access> writes;
  double body_operations = 0;                         // vector instructions per vector of results
  double accumulate_cycles = cpu::kAccumulateCycles;  // latency of a dependent addition, cycles
  double epilogue_operations = 0;  // vector instructions per vector, all outputs together
  // Per index: number of conditions and coordinates that differ along it and are computed lane by
  // lane.
  std::vector<int> body_irregular;
  std::vector<int> epilogue_irregular;
  // Per index: share of elements at which all epilogue conditions that depend on it hold.
  std::vector<double> epilogue_inside;
  std::vector<bool> constrained;  // per index: a constraint of the reduction depends on it
  std::vector<bool> chosen;   // per index: a poly::Choice depends on it, and plans unroll all of it
  int64_t element_bytes = 4;  // bytes of the type of the computation
  // Sliding windows of a kernel that reduces nothing else. Adjacent outputs can share their loads.
  struct Window {
    int output = 0;
    int reduced = 0;
  };
  std::vector<Window> windows;
  // Figures of the machine's core. Kernels with little computation per element use the defaults,
  // which hide no memory latency.
  cpu::Core core;
  double registers = 16;  // vector registers of a core
};

// Number of distinct elements that an access reads or writes: the range of each index that moves
// it, multiplied.
double ElementCount(const poly::FlatContraction& flat, const CpuKernel::Access& access);

// Returns whether a poly::Choice depends on some index.
bool HasChoices(const CpuKernel& kernel);

}  // namespace tartan::plan
