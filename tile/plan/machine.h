// SPDX-License-Identifier: Apache-2.0
// Figures of devices for all cost models. `Machine` holds what the driver reports and what
// calibration measured (HardwareSettings). The constants are typical of processors since about
// 2015; "empirical" means tuned on the development machines (AMD EPYC and Intel Xeon with PoCL;
// NVIDIA GPUs).
#pragma once

#include <array>
#include <cstdint>

#include "tile/base/hardware_settings.h"

namespace tartan::plan {

// A CPU core. One work-item runs on one core, and vectors are explicit in the generated code.
namespace cpu {
inline constexpr double kLoadsPerCycle = 2;  // vector loads per cycle; typical of x86 cores
// Cycles from one dependent multiply-add to the next; empirical.
inline constexpr double kAccumulateCycles = 4.5;
// The same latency of a bfloat16 dot instruction, cycles; measured on a Zen 4.
inline constexpr double kDotCycles = 6.5;
inline constexpr double kLaneCycles = 2.5;  // cycles to insert or extract a lane; empirical
inline constexpr int kWideLanes = 8;  // minimum lanes to load stride 2 as two vectors and a shuffle
// Bytes per cycle from L3 into L2; empirical.
inline constexpr double kL2BytesPerCycle = 28;
// Bytes per cycle from beyond L2; empirical. Calibration measures copies far beyond all caches
// instead, which is too slow: most operands of kernels are in L3.
inline constexpr double kMemoryBytesPerCycle = 5;
// Bytes per cycle from beyond L2 for a single stream of consecutive lines, on processors that
// prefetch one stream best (HardwareSettings::prefers_one_stream); measured on a Zen 5.
inline constexpr double kOneStreamBytesPerCycle = 8;
// Bytes per cycle from L2 into L1 for a single stream on such processors. Measured on a Zen 5: a
// matrix of 256 KiB as one stream gives 48, as two to eight interleaved rows 32.
inline constexpr double kOneStreamL2BytesPerCycle = 48;
// Bytes per cycle of a write, and of a read, of a tensor that one kernel writes and the next one
// reads. Measured on Winograd tiles in L2 and L3.
inline constexpr double kProducerConsumerBytesPerCycle = 10;
inline constexpr double kL3Bytes = 4 << 20;  // bytes of L3 that one kernel can expect; empirical
inline constexpr int64_t kLineBytes = 64;    // bytes of a cache line; x86
inline constexpr int64_t kPageBytes = 4096;  // bytes of a small page; x86
// Bytes of one way of L1 on x86. Rows a multiple of this apart share its sets.
inline constexpr int64_t kWayBytes = 4096;
// Minimum work of a task, in cycles, that hides the start of a work-item; empirical.
inline constexpr double kTaskCycles = 40000;
// Maximum tasks per core, enough to even out tasks of different length; empirical.
inline constexpr int64_t kTasksPerCore = 4;

// Figures that differ among cores. The defaults are empirical.
struct Core {
  double stored_lane_cycles = 2.5;  // cycles to store one lane of a vector
  double l1_bytes_per_cycle = 32;   // bytes per cycle from L2 into L1
  double exposed_l1 = 0.4;          // share of the time to fill L1 that other work does not hide
  double exposed_beyond_l1 = 0.2;   // the same share of the time to fill L2 and to read memory
  double exposed_loads = 0.2;       // the same share of the time of load instructions
  double page_cycles = 2;           // cycles of a loop step that touches a page outside the TLB
  double stream_cycles = 0.2;       // cycles of a loop step for each row of vectors after the first
  // Cycles to copy a few elements of stride 2 from a page other than the last one.
  double distant_strided_copy_cycles = 0;
  // Bytes per cycle from beyond L2, for a tensor whose vectors are read consecutively.
  double one_stream_bytes_per_cycle = kMemoryBytesPerCycle;
};
// Cores that overlap hundreds of instructions and so hide L2
// (HardwareSettings::hides_second_cache). Measured on a Zen 5 with 45 convolutions and GEMMs in 36
// plans each. There, tiles of 14 or more accumulators take the time of their arithmetic, whatever
// the cache and the number of pages.
inline constexpr Core kHidingCore = {.stored_lane_cycles = 1.25,
                                     .l1_bytes_per_cycle = 64,
                                     .exposed_l1 = 0.25,
                                     .exposed_beyond_l1 = 0.05,
                                     .exposed_loads = 0.05,
                                     .page_cycles = 0,
                                     .stream_cycles = 0,
                                     .distant_strided_copy_cycles = 12,
                                     .one_stream_bytes_per_cycle = kOneStreamBytesPerCycle};
}  // namespace cpu

// A compute unit of an NVIDIA GPU (SM); other GPUs are similar. Sizes and limits are those NVIDIA
// documents for its architectures since Volta.
namespace gpu {
inline constexpr int64_t kWarp = 32;         // work-items that execute in lockstep
inline constexpr int64_t kAccessBytes = 16;  // bytes, maximum of one memory instruction
inline constexpr double kSectorBytes = 32;   // bytes of a memory transaction
inline constexpr double kLineBytes = 128;    // bytes of an L1 line; L1 delivers one line per cycle
inline constexpr double kUnitCacheBytes = 192 * 1024;  // bytes of L1 per compute unit
// Bytes per cycle from L2, per compute unit; empirical.
inline constexpr double kCacheBytesPerCycle = 40;
// Bytes per cycle from memory, per compute unit, for devices that are not calibrated; empirical.
inline constexpr double kMemoryBytesPerCycle = 11.5;
inline constexpr int64_t kResidentItems = 2048;  // maximum work-items per compute unit
inline constexpr int64_t kResidentGroups = 32;   // maximum work-groups per compute unit
// Maximum registers per work-item. The hardware has 255; estimates are not exact.
inline constexpr int64_t kRegisters = 240;
inline constexpr int64_t kOverheadRegisters = 28;   // for addresses and counters; empirical
inline constexpr int64_t kUnitRegisters = 1 << 16;  // 32-bit registers per compute unit
}  // namespace gpu

struct Machine {
  explicit Machine(const HardwareSettings& settings);

  bool is_cpu = true;
  int64_t units = 0;         // cores or compute units; 0: work is not divided
  double cycles_per_us = 0;  // clock of a core or compute unit, cycles per microsecond
  double launch_us = 0;      // microseconds to launch an empty kernel
  // Microseconds per launch inside a persistent megakernel, where work-groups wait at grid
  // barriers. Equals launch_us on devices without megakernels.
  double megakernel_launch_us = 0;
  // Cost of one more kernel, microseconds per run: compile time divided by the expected number of
  // runs.
  double compile_us = 0;
  double memory_bytes_per_us = 0;   // bandwidth of a GPU's memory, bytes per microsecond
  double operations_per_cycle = 0;  // vector multiply-adds per cycle of a core
  cpu::Core core;                   // figures of a CPU core

  double Microseconds(double cycles) const { return cycles / cycles_per_us; }
  double LaunchCycles() const { return launch_us * cycles_per_us; }
  // Compile time of a kernel in cycles per run. `is_short`: the program's data fits L2, so that it
  // runs more often.
  double CompileCycles(bool is_short) const;
  // CPU: number of work-items that `cycles` of work justify; 1 or more.
  int64_t TaskCount(double cycles) const;
};

}  // namespace tartan::plan
