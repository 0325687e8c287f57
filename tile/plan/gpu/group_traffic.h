// SPDX-License-Identifier: Apache-2.0
// Memory and local memory traffic of a work-group: instructions, bytes and cycles of a plan's
// accesses.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tile/plan/gpu/group_staging.h"
#include "tile/plan/gpu_plan.h"
#include "tile/plan/machine.h"

namespace tartan::plan {

// Work of one work-group, per step or at its end.
struct GroupWork {
  double instructions = 0;      // per work-item
  double local_cycles = 0;      // cycles of the compute unit's local memory
  double bytes = 0;             // bytes through L2
  double latency = 0;           // stall cycles of the group in addition to its instructions
  double bytes_asked = 0;       // bytes that a warp's own loads request from memory
  double bytes_ahead = 0;       // bytes_asked of all warps that are in flight before they wait
  double loaded_registers = 0;  // registers per work-item for copies to local memory
};

class GroupTraffic {
 public:
  // Keeps references to both arguments.
  GroupTraffic(const GroupProblem& problem, const GpuPlan& plan);

  bool IsStaged(int access) const;
  // Adds the copy of a staged tile and its reads. Returns local memory reads per work-item.
  double AddStaged(const StagedAccess& staged, GroupWork* work) const;
  // Adds direct accesses by every work-item, at every position of the step or at the end, with
  // `resident` work-groups on the compute unit. Returns their number; accesses of local memory do
  // not count.
  double AddDirect(const GroupProblem::Access& access, bool in_step, double resident,
                   GroupWork* work) const;
  // Returns the instructions that move `elements`, `lanes` elements each.
  double AddMemory(const poly::FlatAccess& access, int64_t element_bytes, double elements,
                   int64_t lanes, GroupWork* work) const;
  // Registers for elements that a work-item reads once and uses several times.
  double WindowRegisters() const;

 private:
  std::vector<int64_t> Addresses(const std::vector<int64_t>& strides) const;
  double Positions(const GroupProblem::Access& access, bool in_step) const;
  bool ReadsLanes(const GroupProblem::Access& access) const;
  double Held(size_t i) const { return static_cast<double>(plan_.splits[i].held()); }

  const GroupProblem& problem_;
  const GpuPlan& plan_;
  const double warps_;
  // Positions of the first warp's work-items, per index.
  std::vector<std::array<int64_t, 32>> warp_;
  int warp_size_ = 0;
};

}  // namespace tartan::plan
