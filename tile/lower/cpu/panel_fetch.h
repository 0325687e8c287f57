// SPDX-License-Identifier: Apache-2.0
// Weights that come from memory while a product computes with those before them.
#pragma once

#include <vector>

#include "tile/loop/loop_ir.h"
#include "tile/lower/index_emitter.h"
#include "tile/plan/cpu/cpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

// For each step of a tile's reduction: a part of the panel (the packed rows of an operand that all
// tiles of a task use in a run) that comes after the one in use, is fetched ahead.
// The tiles share the work. `run_begin`: of the reduced index. Nothing where the kernel has no such
// operand, or it is so small that it stays in a cache.
std::vector<loop::StmtPtr> FetchNextPanel(const poly::FlatContraction& flat,
                                          const plan::CpuPlan& plan, const IndexEmitter& indices,
                                          const loop::ExprPtr& run_begin);

}  // namespace tartan::lower
