// SPDX-License-Identifier: Apache-2.0
// Lowers matmuls for tensor cores (MMA): tiles of both factors in local memory, accumulators in the
// register layout that the MMA requires, and results stored through local memory.
#pragma once

#include <string>
#include <vector>

#include "tile/loop/loop_ir.h"
#include "tile/lower/emit/lower_options.h"
#include "tile/lower/gpu/group_context.h"
#include "tile/plan/matrix_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

// Parameters as in LowerKernel. Requires a plan of plan::MatrixCandidate.
loop::Kernel LowerMmaKernel(const poly::FlatContraction& flat, const plan::MatrixPlan& plan,
                            const std::string& name, const LowerOptions& options);

// Declares the local memory for a plan's tiles, with room for `size` elements.
loop::StmtPtr DeclareMmaTiles(const plan::MatrixPlan& plan, int64_t size);

// The matmul of one work-group as a part of a larger kernel with the same work-group size.
// `origins` has a value for each index of plan.batch; all rows and columns are in one tile. The
// kernel declares "item", the tiles, and the array `held` if results stay in registers. All
// work-items must execute the statements, and need a barrier after them.
std::vector<loop::StmtPtr> LowerMmaPart(const poly::FlatContraction& flat,
                                        const plan::MatrixPlan& plan, DataType index_type,
                                        const GroupOrigins& origins, const std::string& held = "");

}  // namespace tartan::lower
