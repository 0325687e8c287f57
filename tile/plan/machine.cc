// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/machine.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tartan::plan {
namespace {

// Defaults for devices that neither report nor calibrate a figure; empirical.
constexpr double kCpuCyclesPerUs = 2500;  // clock of a CPU core, cycles per microsecond
constexpr double kGpuCyclesPerUs = 1500;  // clock of a GPU, cycles per microsecond
constexpr double kCpuLaunchUs = 8;        // microseconds per CPU launch
constexpr double kGpuLaunchUs = 2;        // microseconds per GPU launch
// Launch overhead inside a persistent megakernel, share of a standalone launch. Measured:
// 1.1 us of 3, plus reading the next launch's table entry.
constexpr double kMegakernelLaunchShare = 0.4;
// Vector multiply-adds per cycle of a core with FMA; empirical.
constexpr double kFusedPerCycle = 2;
constexpr double kUnfusedPerCycle = 1;  // the same without FMA; empirical
// Maximum vector multiply-adds per cycle that calibration may yield on a CPU.
constexpr double kMaxUnits = 2;
// Compile time of a kernel with PoCL, microseconds; measured.
constexpr double kCompileUs = 160000;
constexpr double kRunsOfKernel = 8000;  // expected runs of a compiled kernel; empirical
// Factor by which short programs, whose data fits L2, run more often, for example as the body of a
// loop; empirical.
constexpr double kShortRuns = 100;

double Or(double reported, double usual) { return reported > 0 ? reported : usual; }

}  // namespace

Machine::Machine(const HardwareSettings& settings)
    : is_cpu(settings.threads <= 1), units(settings.compute_units) {
  cycles_per_us =
      Or(static_cast<double>(settings.clock_mhz), is_cpu ? kCpuCyclesPerUs : kGpuCyclesPerUs);
  launch_us = Or(settings.launch_us, is_cpu ? kCpuLaunchUs : kGpuLaunchUs);
  megakernel_launch_us =
      launch_us * (settings.batches_launches && !is_cpu ? kMegakernelLaunchShare : 1);
  compile_us = kCompileUs / kRunsOfKernel;
  const double all = static_cast<double>(std::max<int64_t>(units, 1)) * cycles_per_us;
  memory_bytes_per_us = Or(settings.gbps * 1e3, all * gpu::kMemoryBytesPerCycle);
  const double operations =
      settings.gflops * 1e3 /
      (2 * all * static_cast<double>(std::max<int64_t>(settings.vector_width, 1)));
  // A CPU core has one or two FMA units. Calibration may exceed that if the clock is higher than
  // reported.
  const double most = is_cpu ? kMaxUnits : std::numeric_limits<double>::infinity();
  operations_per_cycle = settings.gflops > 0 ? std::clamp(std::round(operations), 1.0, most)
                         : settings.has_fma  ? kFusedPerCycle
                                             : kUnfusedPerCycle;
  if (settings.hides_l2_latency) core = cpu::kHidingCore;
}

double Machine::CompileCycles(bool is_short) const {
  return compile_us * cycles_per_us / (is_short ? kShortRuns : 1);
}

int64_t Machine::TaskCount(double cycles) const {
  const double most = static_cast<double>(cpu::kTasksPerCore * units);
  return std::max<int64_t>(static_cast<int64_t>(std::min(cycles / cpu::kTaskCycles, most)), 1);
}

}  // namespace tartan::plan
