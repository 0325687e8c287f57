// SPDX-License-Identifier: Apache-2.0
// Which inputs of a work-group's tile go through local memory, and what edges read as.
#pragma once

#include <optional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/gpu/gpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// What planning needs to know of a kernel, found once. Holds references to `flat`.
class GroupProblem {
 public:
  // `local_tensors`: those that are in local memory already; empty: none. `is_local_output`: the
  // result goes there, too.
  explicit GroupProblem(const poly::FlatContraction& flat,
                        const std::vector<bool>& local_tensors = {}, bool is_local_output = false);

  struct Access {
    poly::FlatAccess flat;
    DataType type = DataType::kInvalid;  // in memory
    int64_t count = 0;                   // elements of the tensor
    bool in_body = false;
    bool in_outputs = false;
    // Reads as this value leave the accumulator alone.
    std::optional<double> fill;
    // May be copied: its elements can be told by its indices alone.
    bool may_be_staged = false;
    bool is_local = false;  // the tensor is in local memory
  };

  const poly::FlatContraction& flat() const { return flat_; }
  const std::vector<Access>& accesses() const { return accesses_; }
  const poly::FlatAccess& output() const { return output_; }
  int index_count() const { return static_cast<int>(flat_.indices.size()); }
  bool is_output(int i) const { return i < flat_.output_index_count; }
  // The form that LowerGroupKernel knows.
  bool is_eligible() const { return is_eligible_; }
  bool is_local_output() const { return is_local_output_; }
  // The index along which stored elements are neighbours; -1: none.
  int contiguous_output() const { return contiguous_output_; }
  // Returns whether the body reads vectors along the index: at least one read has stride 1 there,
  // and all others have stride 0 or 1.
  bool ReadsContiguously(int index) const;
  int64_t operations() const { return operations_; }  // of the body, per point
  // The body reads elements at coordinates that are themselves computed.
  bool has_computed_reads() const { return has_computed_reads_; }

 private:
  const poly::FlatContraction& flat_;
  const bool is_local_output_;
  std::vector<Access> accesses_;
  poly::FlatAccess output_;
  bool is_eligible_ = false;
  int contiguous_output_ = -1;
  int64_t operations_ = 0;
  bool has_computed_reads_ = false;
};

// Stages the accesses of a plan whose splits, thread parts and lane index are set: those whose
// elements several work-items use, or that memory would give to neighbours one by one.
void StageAccesses(const GroupProblem& problem, GpuPlan* plan);

// Which of TileConstraints need no check because where one fails the inputs read as values that
// leave the accumulator alone.
std::vector<bool> FilledConstraints(const GroupProblem& problem, const GpuPlan& plan);

// What LowerGroupKernel relies on, for plans made by hand; "" or what is wrong.
std::string WhatIsWrong(const poly::FlatContraction& flat, const GpuPlan& plan,
                        const HardwareSettings& settings);

}  // namespace tartan::plan
