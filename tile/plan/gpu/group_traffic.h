// SPDX-License-Identifier: Apache-2.0
// What the work-items of a group read and write, of memory and of local memory: instructions, bytes
// and cycles that a plan's accesses take.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tile/plan/gpu/gpu_plan.h"
#include "tile/plan/gpu/group_staging.h"
#include "tile/plan/machine.h"

namespace tartan::plan {

// Figures of NVIDIA's compute units, which the others resemble.

// What one group does, per step or at its end.
struct GroupWork {
  double instructions = 0;      // per work-item
  double local_cycles = 0;      // of the compute unit's local memory
  double bytes = 0;             // through the L2 cache
  double latency = 0;           // of a group by itself, beside its instructions
  double bytes_asked = 0;       // of memory by a warp's own loads
  double bytes_ahead = 0;       // of those, by all warps before they wait
  double loaded_registers = 0;  // what copies to local memory pass through, per work-item
};

class GroupTraffic {
 public:
  // Both outlive the object.
  GroupTraffic(const GroupProblem& problem, const GpuPlan& plan);

  bool IsStaged(int access) const;
  // The copy of a tile and its use. Returns the reads from local memory per work-item.
  double AddStaged(const StagedAccess& staged, GroupWork* work) const;
  // Accesses of memory by every work-item, at every position in the step or at the end, with
  // `resident` groups side by side. Returns how many; those of local memory do not count.
  double AddDirect(const GroupProblem::Access& access, bool in_step, double resident,
                   GroupWork* work) const;
  // Returns the instructions that move `elements`, `lanes` at a time.
  double AddMemory(const poly::FlatAccess& access, double element_bytes, double elements,
                   int64_t lanes, GroupWork* work) const;
  // What a work-item reads once and uses several times waits in registers.
  double WindowRegisters() const;

 private:
  std::vector<int64_t> Addresses(const std::vector<int64_t>& strides) const;
  double Positions(const GroupProblem::Access& access, bool in_step) const;
  bool ReadsLanes(const GroupProblem::Access& access) const;
  double Held(size_t i) const { return static_cast<double>(plan_.splits[i].held()); }

  const GroupProblem& problem_;
  const GpuPlan& plan_;
  const double warps_;
  std::vector<std::array<int64_t, 32>> warp_;  // where the first one's work-items are, per index
  int warp_size_ = 0;
};

}  // namespace tartan::plan
