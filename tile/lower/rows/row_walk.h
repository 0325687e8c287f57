// SPDX-License-Identifier: Apache-2.0
// Chains on GPUs whose work-groups walk their rows in blocks (poly::FindOnlineRows).
#pragma once

#include <vector>

#include "tile/lower/rows/row_stages.h"
#include "tile/plan/rows/row_group_plan.h"

namespace tartan::lower {

// All stages of a plan with a walk, and what they carry from block to block. `stages` are those of
// whole blocks.
std::vector<loop::StmtPtr> LowerRowWalk(const RowStages& stages, const plan::RowGroupPlan& plan);

}  // namespace tartan::lower
