// SPDX-License-Identifier: Apache-2.0
// Lowers GPU kernels that run on the ordinary cores: tiles in local memory, accumulators in
// registers.
#pragma once

#include <string>
#include <vector>

#include "tile/loop/loop_ir.h"
#include "tile/lower/emit/lower_options.h"
#include "tile/lower/gpu/group_context.h"
#include "tile/plan/gpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

// Parameters as in LowerKernel. Requires a plan that plan::IsSound accepts.
loop::Kernel LowerGroupKernel(const poly::FlatContraction& flat, const plan::GpuPlan& plan,
                              const std::string& name, const LowerOptions& options);

// Statements of one work-group. `fetch` may run anywhere earlier in the same scope.
struct GroupPart {
  std::vector<loop::StmtPtr> fetch;
  std::vector<loop::StmtPtr> compute;
};

// The work of one work-group as a part of a larger kernel with the same work-group size. `origins`
// give its position; along all other output indices it has whole tiles. All work-items must execute
// it. `fetched`: accesses that are preloaded into registers. `loads_first`: as in GroupContext.
GroupPart LowerGroupPart(const poly::FlatContraction& flat, const plan::GpuPlan& plan,
                         DataType index_type, const GroupOrigins& origins,
                         const std::vector<int>& fetched, bool loads_first);

// A matmul that a work-group computes at several positions along some origin.
struct GroupKeyLoop {
  std::vector<loop::StmtPtr> declare;  // once, before all others
  // zeroes the sums: at each position, or once for the sum over all positions
  std::vector<loop::StmtPtr> sums;
  std::vector<loop::StmtPtr> turn;   // accumulates at one position
  std::vector<loop::StmtPtr> store;  // at each position, or once
};

// Factors by which the running sums are rescaled before each further position, as online softmax
// needs. `array` in local memory has a factor per value of the output index `row`; -1: one factor.
struct Rescaling {
  std::string array;
  int row = -1;
};

// Like LowerGroupPart. `rescaling`: null if each position has its own sums.
GroupKeyLoop LowerGroupKeyLoop(const poly::FlatContraction& flat, const plan::GpuPlan& plan,
                               DataType index_type, const GroupOrigins& origins, bool loads_first,
                               const Rescaling* rescaling);

}  // namespace tartan::lower
