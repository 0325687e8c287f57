// SPDX-License-Identifier: Apache-2.0
// Input and result types of `Device::Compile`: kernel sources, compile statistics, entry points.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tartan::hal {

// Source text of one kernel. It defines the entry point `name` and is independent of other kernels.
struct KernelSource {
  std::string name;
  std::string source;
  // True if launches of this kernel may be batched: a backend may combine many short launches into
  // one device launch. The source then defines an additional function that does part of a launch's
  // work. Its `arguments` are buffer addresses followed by integers.
  //
  // CPUs:
  //   NAME_items(const ulong* arguments, long begin, long end, long width, long height)
  // executes the work-items [begin, end) of a width x height grid in row-major order. A work-group
  // has one work-item.
  //
  // GPUs (ExecutableSource::uses_megakernel):
  //   NAME_groups(const local ulong* arguments, local uchar* pool, int phase, int team, int item,
  //               int group, int end, int step, int width, int height)
  // executes the work-groups group, group + step, ... below `end` of a width x height grid of
  // work-groups. A larger work-group is divided into teams, each of which executes one work-group
  // (tile/base/launch_batch_limits.h). Phase 0 does all work, phase 1 the prefetch of constants
  // (loop::Early) for the first work-group, and phase 2 the rest. The source also defines
  // constants:
  //   NAME_team   work-items per team; the items [0, NAME_team) call the function
  //   NAME_local  bytes of `pool` for each team
  //   NAME_align  alignment of these bytes
  //   NAME_early  1 if the kernel has a phase 1, else 0
  bool in_launch_batch = false;
  // Positions of the arguments that a weight-stationary kernel reads only once for several
  // consecutive launches. These launches have one work-group, the same buffers in these positions,
  // and the same integer arguments. If the list is empty, the kernel is not weight-stationary.
  // Otherwise NAME_groups may modify `arguments` and has three more parameters:
  //   const global ulong* next, int stride, int launches
  // It executes `launches` launches. The arguments of the second launch start at `next`, and the
  // arguments of each later launch start `stride` words further on.
  std::vector<int> kept = {};
};

// Input of `Device::Compile`. Each kernel is compiled as if it directly followed the prologue, so a
// backend may build kernels together or separately.
struct ExecutableSource {
  std::string format;    // "opencl-c"
  std::string prologue;  // helper functions and pragmas
  std::vector<KernelSource> kernels;
  std::string options;  // compiler flags
  // True if all batched kernels are best built in one program, because their launches are
  // adjacent.
  bool joins_launch_batches = false;
  bool uses_megakernel = false;
};

struct CompileStatistics {
  int64_t cache_hits = 0;          // programs taken from the disk cache
  int64_t cache_misses = 0;        // programs compiled
  int64_t cache_partial_hits = 0;  // cache hits that lacked the machine code of some kernels
  double compile_ms = 0;           // duration of Device::Compile
};

// Properties of a compiled kernel.
struct EntryPoint {
  std::string name;
  int argument_count = -1;                        // -1: any number
  std::array<int64_t, 3> local_size = {0, 0, 0};  // fixed by the kernel; zeros: any
};

}  // namespace tartan::hal
