// SPDX-License-Identifier: Apache-2.0
// A kernel whose products a matrix unit makes: tiles of both factors in local memory, accumulators
// spread over the work-items as the unit wants them, and results stored by way of local memory.
#pragma once

#include <string>
#include <vector>

#include "tile/loop/loop_ir.h"
#include "tile/lower/gpu/group_context.h"
#include "tile/lower/lower_options.h"
#include "tile/plan/matrix/matrix_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

// Parameters as in LowerKernel. Requires a plan of plan::MatrixCandidate.
loop::Kernel LowerMatrixKernel(const poly::FlatContraction& flat, const plan::MatrixPlan& plan,
                               const std::string& name, const LowerOptions& options);

// The local memory of a plan's tiles, which has room for `size` elements.
loop::StmtPtr DeclareMatrixTiles(const plan::MatrixPlan& plan, int64_t size);

// A part of a larger kernel whose groups have as many work-items: the products of a group at
// `origins` (each index of plan.batch), with all rows and columns in one tile. "item", the tiles
// and the array `held`, for results that stay in registers, are declared by the kernel. All
// work-items must come there, and wait for each other behind it.
std::vector<loop::StmtPtr> LowerMatrixPart(const poly::FlatContraction& flat,
                                           const plan::MatrixPlan& plan, DataType index_type,
                                           const GroupOrigins& origins,
                                           const std::string& held = "");

}  // namespace tartan::lower
