// SPDX-License-Identifier: Apache-2.0
// Chooses which inputs of a work-group's tile are staged in local memory, and how elements outside
// of the constraints read.
#pragma once

#include <optional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/gpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Properties of a kernel that GPU planning needs, computed once. Holds a reference to `flat`.
class GroupProblem {
 public:
  // `local_tensors`: per tensor, whether it is already in local memory; empty: none.
  // `is_local_output`: the result is written to local memory, too.
  explicit GroupProblem(const poly::FlatContraction& flat,
                        const std::vector<bool>& local_tensors = {}, bool is_local_output = false);

  struct Access {
    poly::FlatAccess flat;
    DataType type = DataType::kInvalid;  // in memory
    int64_t count = 0;                   // elements of the tensor
    bool in_body = false;
    bool in_outputs = false;
    // Value that leaves the accumulator unchanged when this access reads it.
    std::optional<double> fill;
    // The access can be staged: its indices alone determine its elements.
    bool may_be_staged = false;
    bool is_local = false;  // the tensor is in local memory
  };

  const poly::FlatContraction& flat() const { return flat_; }
  const std::vector<Access>& accesses() const { return accesses_; }
  const poly::FlatAccess& output() const { return output_; }
  int index_count() const { return static_cast<int>(flat_.indices.size()); }
  bool is_output(int i) const { return i < flat_.output_index_count; }
  // LowerGroupKernel supports the kernel's form.
  bool is_eligible() const { return is_eligible_; }
  bool is_local_output() const { return is_local_output_; }
  // Index along which stored elements are contiguous; -1: none.
  int contiguous_output() const { return contiguous_output_; }
  // Returns whether the body reads vectors along the index: at least one read has stride 1 there,
  // and all others have stride 0 or 1.
  bool ReadsContiguously(int index) const;
  int64_t operations() const { return operations_; }  // operations of the body per point
  // The body reads elements at computed coordinates.
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

// Chooses the staged accesses of a plan whose splits, thread parts and lane index are set. Stages
// elements that several work-items use, and reads that memory would serve one element at a time.
void StageAccesses(const GroupProblem& problem, GpuPlan* plan);

// Returns, for each of TileConstraints, whether it needs no check: outside of it the inputs read as
// values that leave the accumulator unchanged.
std::vector<bool> FilledConstraints(const GroupProblem& problem, const GpuPlan& plan);

// Validates plans made by hand for LowerGroupKernel. Returns the problem, or "".
std::string ReasonInvalid(const poly::FlatContraction& flat, const GpuPlan& plan,
                          const HardwareSettings& settings);

}  // namespace tartan::plan
