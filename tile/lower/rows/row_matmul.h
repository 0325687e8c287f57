// SPDX-License-Identifier: Apache-2.0
// Lowers a matmul that is a stage of a GPU row fusion.
#pragma once

#include "tile/lower/gpu/group_kernel.h"
#include "tile/lower/rows/row_stages.h"
#include "tile/plan/rows/row_group_plan.h"

namespace tartan::lower {

// The work-group's position along the origins of a stage's block.
GroupOrigins OriginsOf(const RowStages& stages, const plan::RowGroupStage& stage);

// The matmul's statements, with the names of the fused kernel.
GroupPart LowerRowMatmul(const RowStages& stages, size_t s, const plan::RowGroupStage& stage);

}  // namespace tartan::lower
