// SPDX-License-Identifier: Apache-2.0
// Lowers one stage of a GPU row fusion that is not a matmul: the work-items of a row share its
// elements.
#pragma once

#include <string>

#include "tile/lower/rows/row_stages.h"
#include "tile/plan/rows/row_group_plan.h"

namespace tartan::lower {

// A stage of the plan, or its variant for the elements after the last whole block of a blocked row.
struct StageOfRows {
  size_t number = 0;
  const plan::RowGroupStage& stage;
};

// The name of the variable or array of a value that stays in registers.
std::string RegisterArrayName(int number);

// The stage for work-item "lane" of the row "row" of the block. `is_odd`: see PartialResults.
loop::StmtPtr LowerRowStage(const RowStages& stages, const plan::RowGroupPlan& plan,
                            const StageOfRows& stage, bool is_odd);

// Loads a value into registers before the first stage.
loop::StmtPtr FetchRows(const RowStages& stages, const plan::RowGroupPlan& plan, int number);

}  // namespace tartan::lower
