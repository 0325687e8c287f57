// SPDX-License-Identifier: Apache-2.0
// Software prefetch of packed weights: while a tile computes with one panel, it prefetches the
// next.
#pragma once

#include <vector>

#include "tile/loop/loop_ir.h"
#include "tile/lower/emit/index_emitter.h"
#include "tile/plan/cpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

// A panel is the packed rows of an operand that all tiles of a task use in one K chunk. Returns the
// prefetch statements for one step of a tile's reduction: they fetch a part of the next panel, and
// the tiles share the work. `chunk_begin` is the first value of the reduced index in the K chunk.
// Returns nothing if the kernel has no such operand or if the operand is small enough to stay
// cached.
std::vector<loop::StmtPtr> PrefetchNextPanel(const poly::FlatContraction& flat,
                                             const plan::CpuPlan& plan, const IndexEmitter& indices,
                                             const loop::ExprPtr& chunk_begin);

}  // namespace tartan::lower
