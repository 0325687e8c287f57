// SPDX-License-Identifier: Apache-2.0
// Lowers CPU kernels: each work-item runs a task of loops, vectors and register tiles.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tile/loop/loop_ir.h"
#include "tile/lower/emit/lower_options.h"
#include "tile/plan/cpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

// Parameters as in LowerKernel.
loop::Kernel LowerTaskKernel(const poly::FlatContraction& flat, const plan::CpuPlan& plan,
                             const std::string& name, const LowerOptions& options);

// Extra statements at the beginning of each step of a task's outermost loop, such as prefetches.
// `counter` runs to `range`.
using LoopPrologue = std::function<std::vector<loop::StmtPtr>(const loop::ExprPtr& counter,
                                                              int64_t step, int64_t range)>;

// The statements for the task at `begins` in the output indices. Parameters are named as in
// LowerKernel; the plan has no `block`. Index arithmetic is done in `index_type`. `beside` may be
// null.
loop::StmtPtr LowerTask(const poly::FlatContraction& flat, const plan::CpuPlan& plan,
                        const std::vector<loop::ExprPtr>& begins, DataType index_type,
                        const LoopPrologue& beside = nullptr);

// One kernel's part of a loop along one index that several fused kernels share.
struct VectorLoop {
  std::vector<loop::StmtPtr> before;  // declares the accumulators
  // Tiles per summation chunk; 0: none. `before_chunk` and `after_chunk` enclose each chunk.
  int64_t chunk_steps = 0;
  std::vector<loop::StmtPtr> before_chunk, after_chunk;
  loop::StmtPtr body;                // the plan's tile at the current index
  std::vector<loop::StmtPtr> after;  // elements that fill no tile, and the results
};

// The kernel's part of a loop along plan.vector_index, over whole tiles, for which
// plan::CanFuseAlongRow holds. `position` is the loop variable. The other output indices are at
// `begins`.
VectorLoop LowerVectorLoop(const poly::FlatContraction& flat, const plan::CpuPlan& plan,
                           const std::vector<loop::ExprPtr>& begins, const loop::ExprPtr& position);

}  // namespace tartan::lower
