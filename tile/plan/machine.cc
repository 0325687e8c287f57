// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/machine.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tartan::plan {
namespace {

// What is taken where a driver reports nothing and nobody has measured.
constexpr double kCpuCyclesPerUs = 2500;
constexpr double kGpuCyclesPerUs = 1500;
constexpr double kCpuLaunchUs = 8;
constexpr double kGpuLaunchUs = 2;
// Of a GPU's launch by itself. Measured: 1.1 us of 3, and what the next group's table takes.
constexpr double kLaunchInSequence = 0.4;
constexpr double kFusedPerCycle = 2;
constexpr double kUnfusedPerCycle = 1;
constexpr double kMostUnits = 2;
// 160 ms of PoCL, over so many runs.
constexpr double kCompileUs = 160000;
constexpr double kRunsOfKernel = 8000;
// A program that a second cache holds takes microseconds: an iteration of a loop, or what is run so
// many times more often.
constexpr double kShortRuns = 100;

double Or(double reported, double usual) { return reported > 0 ? reported : usual; }

}  // namespace

Machine::Machine(const HardwareSettings& settings)
    : is_cpu(settings.threads <= 1), units(settings.compute_units) {
  cycles_per_us =
      Or(static_cast<double>(settings.clock_mhz), is_cpu ? kCpuCyclesPerUs : kGpuCyclesPerUs);
  launch_us = Or(settings.launch_us, is_cpu ? kCpuLaunchUs : kGpuLaunchUs);
  sequence_launch_us = launch_us * (settings.runs_sequences && !is_cpu ? kLaunchInSequence : 1);
  compile_us = kCompileUs / kRunsOfKernel;
  const double all = static_cast<double>(std::max<int64_t>(units, 1)) * cycles_per_us;
  memory_bytes_per_us = Or(settings.gbps * 1e3, all * gpu::kMemoryBytesPerCycle);
  const double operations =
      settings.gflops * 1e3 /
      (2 * all * static_cast<double>(std::max<int64_t>(settings.vector_width, 1)));
  // A CPU's core has one or two units for them; it may be quicker than the clock that is reported.
  const double most = is_cpu ? kMostUnits : std::numeric_limits<double>::infinity();
  operations_per_cycle = settings.gflops > 0 ? std::clamp(std::round(operations), 1.0, most)
                         : settings.has_fma  ? kFusedPerCycle
                                             : kUnfusedPerCycle;
  if (settings.hides_second_cache) core = cpu::kHidingCore;
}

double Machine::CompileCycles(bool is_short) const {
  return compile_us * cycles_per_us / (is_short ? kShortRuns : 1);
}

int64_t Machine::TaskCount(double cycles) const {
  const double most = static_cast<double>(cpu::kTasksPerCore * units);
  return std::max<int64_t>(static_cast<int64_t>(std::min(cycles / cpu::kTaskCycles, most)), 1);
}

}  // namespace tartan::plan
