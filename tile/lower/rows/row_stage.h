// SPDX-License-Identifier: Apache-2.0
// One kernel of a chain on GPUs that is no product of matrices, as the work-items of a row walk it.
#pragma once

#include <string>

#include "tile/lower/rows/row_stages.h"
#include "tile/plan/rows/row_group_plan.h"

namespace tartan::lower {

// A stage of a plan, or what it is for the elements left behind the last whole block of a walk.
struct StageOfRows {
  size_t number = 0;
  const plan::RowGroupStage& stage;
};

// What a held value is called.
std::string HeldName(int number);

// The stage for the work-item "lane" of the block's row "row". `is_odd`: see PartialResults.
loop::StmtPtr LowerRowStage(const RowStages& stages, const plan::RowGroupPlan& plan,
                            const StageOfRows& stage, bool is_odd);

// Loads a held value that is fetched before the first stage.
loop::StmtPtr FetchRows(const RowStages& stages, const plan::RowGroupPlan& plan, int number);

}  // namespace tartan::lower
