// SPDX-License-Identifier: Apache-2.0
// What a backend compiles, and what is known of it then.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tartan::hal {

// One kernel's text, which holds the entry point `name` and nothing another kernel needs.
struct KernelSource {
  std::string name;
  std::string source;
  // Its launches may be parts of one launch of the device: the source has a function that does some
  // of a launch's work. The arguments are addresses of buffers, and numbers.
  //   NAME_items(const ulong* arguments, long begin, long end, long width, long height)
  // does the items [begin, end) of a grid so wide and high, row by row: work-groups are single
  // items. With ExecutableSource::sequences_of_groups,
  //   NAME_groups(const local ulong* arguments, local uchar* pool, int team, int item,
  //               int group, int end, int step, int width, int height)
  // does the work-groups `group`, group + step, … below `end` of a grid of groups so wide and high.
  // Items [0, NAME_team) of a team call it, of which a larger group may have several, each with
  // NAME_local bytes of a pool of local memory (tile/base/sequence_limits.h).
  bool in_sequence = false;
  // Arguments, by position, that a work-group reads once for a run of launches: those that follow
  // each other, of one group, with the same buffers there and the same numbers. None: the kernel
  // has no runs. Else NAME_groups, whose `arguments` are no constants, has three more of its own,
  //   const global ulong* next, int stride, int launches
  // and does so many launches: the arguments of the second one are at `next`, those of each further
  // one `stride` words behind.
  std::vector<int> kept = {};
};

// What a backend compiles: each kernel is compiled as if it followed the prologue alone, so that a
// backend may build kernels together or apart.
struct ExecutableSource {
  std::string format;    // "opencl-c"
  std::string prologue;  // helper functions and pragmas
  std::vector<KernelSource> kernels;
  std::string options;  // compiler flags
  // Kernels in sequences are best built together, since their launches follow each other.
  bool joins_sequences = false;
  bool sequences_of_groups = false;
};

struct CompileStatistics {
  int64_t cache_hits = 0;          // programs taken from the disk cache
  int64_t cache_misses = 0;        // programs compiled
  int64_t cache_partial_hits = 0;  // of those some kernels' machine code was not there
  double compile_ms = 0;           // the whole of Compile
};

// What is known of a compiled kernel.
struct EntryPoint {
  std::string name;
  int argument_count = -1;                        // -1: any number
  std::array<int64_t, 3> local_size = {0, 0, 0};  // fixed in the kernel; zeros: any
};

}  // namespace tartan::hal
