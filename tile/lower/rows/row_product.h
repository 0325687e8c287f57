// SPDX-License-Identifier: Apache-2.0
// A product of matrices that is a stage of a chain on GPUs, for the group.
#pragma once

#include "tile/lower/gpu/group_kernel.h"
#include "tile/lower/rows/row_stages.h"
#include "tile/plan/rows/row_group_plan.h"

namespace tartan::lower {

// Where the group is along the origins of a stage's block.
GroupOrigins OriginsOf(const RowStages& stages, const plan::RowGroupStage& stage);

// In the names of the chain.
GroupPart LowerRowProduct(const RowStages& stages, size_t s, const plan::RowGroupStage& stage);

}  // namespace tartan::lower
