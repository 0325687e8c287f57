// SPDX-License-Identifier: Apache-2.0
// A kernel for devices whose work-items are lanes: tiles in local memory, accumulators in
// registers.
#pragma once

#include <string>
#include <vector>

#include "tile/loop/loop_ir.h"
#include "tile/lower/gpu/group_context.h"
#include "tile/lower/lower_options.h"
#include "tile/plan/gpu/gpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

// Parameters as in LowerKernel. Requires a plan that plan::IsSound accepts.
loop::Kernel LowerGroupKernel(const poly::FlatContraction& flat, const plan::GpuPlan& plan,
                              const std::string& name, const LowerOptions& options);

// Statements of one group; `fetch` are done anywhere before the others, in whose scope they are.
struct GroupPart {
  std::vector<loop::StmtPtr> fetch;
  std::vector<loop::StmtPtr> compute;
};

// One of its groups, as a part of a larger kernel whose groups have as many work-items: that at
// `origins`, with whole tiles along all other output indices. All work-items must come there.
// `fetched`: accesses that are read ahead into registers. `loads_first`: as of GroupContext.
GroupPart LowerGroupPart(const poly::FlatContraction& flat, const plan::GpuPlan& plan,
                         DataType index_type, const GroupOrigins& origins,
                         const std::vector<int>& fetched, bool loads_first);

// A product that a group computes at several places along some origin.
struct GroupTurns {
  std::vector<loop::StmtPtr> declare;  // once, before all others
  std::vector<loop::StmtPtr> sums;     // at each turn, or once for the sum of all turns
  std::vector<loop::StmtPtr> turn;     // adds to these
  std::vector<loop::StmtPtr> store;    // at each turn, or once
};

// What the sums of all turns so far are multiplied by before another: what an array in local memory
// has for their row, an output index, or -1 for one row.
struct Rescaling {
  std::string array;
  int row = -1;
};

// As LowerGroupPart; `rescaling`: null for sums of one turn.
GroupTurns LowerGroupTurns(const poly::FlatContraction& flat, const plan::GpuPlan& plan,
                           DataType index_type, const GroupOrigins& origins, bool loads_first,
                           const Rescaling* rescaling);

}  // namespace tartan::lower
