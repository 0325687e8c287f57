// SPDX-License-Identifier: Apache-2.0
// What a tile means for a kernel on a device with local memory, in the terms of the
// kernel-generation article: operations, work-groups, bytes of local memory and registers, bytes
// read and written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tile/plan/gpu/tile_layout.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

struct TileDevice {
  int64_t threads = 256;           // work-items of a group
  int64_t line_bytes = 32;         // of a memory transaction
  int64_t local_bytes = 16384;     // of a group
  int64_t register_bytes = 16384;  // of a group's accumulators
  int64_t goal_groups = 20;        // that keep the device busy
  double goal_flops_per_byte = 20;
};

struct TileTerms {
  int64_t total_operations = 0;
  int64_t work_groups = 1;
  int64_t inner_loops = 1;  // steps of a group
  int64_t local_bytes = 0;
  int64_t accumulator_bytes = 0;
  int64_t read_bytes = 0;   // per step
  int64_t write_bytes = 0;  // per group
  int64_t operations = 0;   // work-items with points of their own
  int64_t rollups = 0;      // rounds in which partial results are joined
  int64_t threads_used = 0;
  double flops_per_byte = 0;
  double occupancy = 0;  // work-groups that count
  double roof_ratio = 0;
  double occupancy_ratio = 0;
  double thread_ratio = 0;
  bool over_memory = false;
  bool over_registers = false;

  double score() const { return roof_ratio * occupancy_ratio * thread_ratio; }
  std::string ToString() const;
};

// `tile` has a size per index.
TileTerms ComputeTileTerms(const poly::FlatContraction& flat, const std::vector<int64_t>& tile,
                           const TileDevice& device);

// The merged indices of an access, laid out in odd strides and with the work-items spread.
TileLayout ReadPlan(const poly::FlatContraction& flat, int access, const std::vector<int64_t>& tile,
                    const TileDevice& device);

// Work-items along each output index: a line's worth along the one whose elements are nearest, then
// doubled where the tile divides and the fewest are.
std::vector<int64_t> OutputThreads(const poly::FlatContraction& flat,
                                   const std::vector<int64_t>& tile, const TileDevice& device);

}  // namespace tartan::plan
