// SPDX-License-Identifier: Apache-2.0
// A kernel whose work-items have a task each: loops, vectors and register tiles of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tile/loop/loop_ir.h"
#include "tile/lower/lower_options.h"
#include "tile/plan/cpu/cpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

// Parameters as in LowerKernel.
loop::Kernel LowerTaskKernel(const poly::FlatContraction& flat, const plan::CpuPlan& plan,
                             const std::string& name, const LowerOptions& options);

// What a task does besides at the beginning of each step of its outermost loop: `counter` goes up
// to `range`.
using BesideLoop = std::function<std::vector<loop::StmtPtr>(const loop::ExprPtr& counter,
                                                            int64_t step, int64_t range)>;

// The statements for one task that begins at `begins` in the output indices. Parameters are called
// as there; the plan has no `block`. Index arithmetic is done in `index_type`. `beside` may be
// null.
loop::StmtPtr LowerTask(const poly::FlatContraction& flat, const plan::CpuPlan& plan,
                        const std::vector<loop::ExprPtr>& begins, DataType index_type,
                        const BesideLoop& beside = nullptr);

// A kernel's part in a loop along one index that several kernels walk together.
struct VectorLoop {
  std::vector<loop::StmtPtr> before;  // accumulators
  int64_t run_steps = 0;  // where sums are added up in runs of so many tiles: around each
  std::vector<loop::StmtPtr> before_run, after_run;
  loop::StmtPtr body;                // the plan's tile at a position of the index
  std::vector<loop::StmtPtr> after;  // elements that fill no tile, and what is aggregated
};

// The loop along plan.vector_index of a kernel for which plan::CanWalk holds, in steps of its tile
// as far as whole tiles go; `position` is the loop's variable. The other indices are at `begins`
// (per output index).
VectorLoop LowerVectorLoop(const poly::FlatContraction& flat, const plan::CpuPlan& plan,
                           const std::vector<loop::ExprPtr>& begins, const loop::ExprPtr& position);

}  // namespace tartan::lower
