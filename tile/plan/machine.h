// SPDX-License-Identifier: Apache-2.0
// The one model of a device that all planners take their figures from. What its driver reports and
// what calibration has measured come from HardwareSettings; the rest are figures of processors of
// the last ten years, each measured where it says so.
#pragma once

#include <array>
#include <cstdint>

#include "tile/base/hardware_settings.h"

namespace tartan::plan {

// A core of a CPU executes a work-item; vectors are part of the code. Cycles, bytes.
namespace cpu {
inline constexpr double kLoadsPerCycle = 2;       // of vectors
inline constexpr double kAccumulateCycles = 4.5;  // from one addition to the next, delays included
inline constexpr double kDotCycles = 6.5;         // the same of two products of bfloat16 (Zen 4)
inline constexpr double kLaneCycles = 2.5;        // to move one lane in or out of a vector
inline constexpr int kWideLanes = 8;  // elements two apart come out of two vectors so wide
// What fills the second cache.
inline constexpr double kL2BytesPerCycle = 28;
// What is in neither of them comes so quickly. What calibration measures, a copy far beyond all
// caches, is no substitute: most of what kernels read is in the third cache.
inline constexpr double kMemoryBytesPerCycle = 5;
// One stream of consecutive lines, where the processor reads ahead of it alone
// (HardwareSettings::prefers_one_stream).
inline constexpr double kOneStreamBytesPerCycle = 8;
// The same of what the second cache holds (Zen 5: a matrix of 256 KiB as one stream at 48 bytes a
// cycle, as two to eight rows side by side at 32).
inline constexpr double kOneStreamIntoL1BytesPerCycle = 48;
// What one kernel writes and the next one reads, each: through the second and the third cache.
// Measured on the tiles of Winograd's algorithm.
inline constexpr double kHandedOnBytesPerCycle = 10;
inline constexpr double kL3Bytes = 4 << 20;  // that a kernel may hope for
inline constexpr int64_t kLineBytes = 64;
inline constexpr int64_t kPageBytes = 4096;
inline constexpr int64_t kWayBytes = 4096;  // distances that it divides share the sets of a cache
// So much work hides that a work-item has to be started; so many of them for each core even out
// that some take longer.
inline constexpr double kTaskCycles = 40000;
inline constexpr int64_t kTasksPerCore = 4;

// Cycles and shares in which cores differ.
struct Core {
  double stored_lane_cycles = 2.5;  // to store one lane of a vector by itself
  double l1_bytes_per_cycle = 32;   // that fill the first cache
  // What is not hidden behind the rest: of the time in which the first cache is filled, in which
  // the second is and memory gives, and of loads.
  double left_of_l1 = 0.4;
  double left_beyond = 0.2;
  double left_of_loads = 0.2;
  double page_cycles = 2;      // of a step that comes to a page not known
  double stream_cycles = 0.2;  // of a step, for each row of vectors beside the first
  // To copy a few neighbours at every other place from another page than the last ones.
  double far_neighbours_cycles = 0;
  // Of a tensor whose vectors are read one behind the other.
  double one_stream_bytes_per_cycle = kMemoryBytesPerCycle;
};
// HardwareSettings::hides_second_cache. Measured on a Zen 5 with 45 convolutions and products in 36
// plans each: tiles of 14 accumulators and more take the time of their arithmetic, in whichever
// cache their operands lie, in rows of however many pages.
inline constexpr Core kHidingCore = {.stored_lane_cycles = 1.25,
                                     .l1_bytes_per_cycle = 64,
                                     .left_of_l1 = 0.25,
                                     .left_beyond = 0.05,
                                     .left_of_loads = 0.05,
                                     .page_cycles = 0,
                                     .stream_cycles = 0,
                                     .far_neighbours_cycles = 12,
                                     .one_stream_bytes_per_cycle = kOneStreamBytesPerCycle};
}  // namespace cpu

// Compute units of NVIDIA's GPUs, which others resemble. Work-items are the lanes of warps.
namespace gpu {
inline constexpr int64_t kWarp = 32;         // work-items that execute together
inline constexpr int64_t kAccessBytes = 16;  // the most that one memory instruction moves
inline constexpr double kSectorBytes = 32;   // of a memory transaction
inline constexpr double kLineBytes = 128;    // of the cache beside a unit, one a cycle
inline constexpr double kUnitCacheBytes = 192 * 1024;
inline constexpr double kCacheBytesPerCycle = 40;     // a unit's share of the second cache
inline constexpr double kMemoryBytesPerCycle = 11.5;  // its share of memory, where not measured
inline constexpr int64_t kResidentItems = 2048;       // that a unit holds
inline constexpr int64_t kResidentGroups = 32;
inline constexpr int64_t kRegisters = 240;         // of 255: estimates are not exact
inline constexpr int64_t kOverheadRegisters = 28;  // addresses and counters
}  // namespace gpu

struct Machine {
  explicit Machine(const HardwareSettings& settings);

  bool is_cpu = true;
  int64_t units = 0;         // cores or compute units; 0: work is not divided among them
  double cycles_per_us = 0;  // of a core or unit
  double launch_us = 0;      // to start a kernel that does nothing
  // The same in a sequence of launches, where groups wait for each other; of devices that run none
  // what a launch is.
  double sequence_launch_us = 0;
  // What a kernel more costs each run: the driver's time to compile it, spread over the runs that a
  // kernel is compiled for.
  double compile_us = 0;
  double memory_bytes_per_us = 0;   // of a GPU
  double operations_per_cycle = 0;  // vector multiply-adds of a core
  cpu::Core core;                   // of a CPU

  double Microseconds(double cycles) const { return cycles / cycles_per_us; }
  double LaunchCycles() const { return launch_us * cycles_per_us; }
  // `is_short`: where a run of the program takes so little that it is run more often.
  double CompileCycles(bool is_short) const;
  // Of a CPU: how many work-items `cycles` of work are worth, at least 1.
  int64_t TaskCount(double cycles) const;
};

}  // namespace tartan::plan
