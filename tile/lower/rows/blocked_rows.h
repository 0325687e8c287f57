// SPDX-License-Identifier: Apache-2.0
// Lowers row fusions on GPUs whose rows are processed in blocks, as fused attention with online
// softmax does (poly::FindOnlineSoftmax).
#pragma once

#include <vector>

#include "tile/lower/rows/row_stages.h"
#include "tile/plan/rows/row_group_plan.h"

namespace tartan::lower {

// All stages of a plan with a `walk`, and the values that they carry from block to block. `stages`
// are those for whole blocks.
std::vector<loop::StmtPtr> LowerBlockedRows(const RowStages& stages,
                                            const plan::RowGroupPlan& plan);

}  // namespace tartan::lower
