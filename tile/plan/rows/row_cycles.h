// SPDX-License-Identifier: Apache-2.0
// What a chain over rows takes of a GPU's time, beside its launch.
#pragma once

#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/rows/row_group_plan.h"
#include "tile/poly/row_block.h"

namespace tartan::plan {

// Of a group by itself: cycles of instructions, which groups of a compute unit share, and of
// waiting.
struct StageCycles {
  double issue = 0;
  double wait = 0;
};

// Of the stages that are no products.
StageCycles RowStagesCycles(const RowGroupPlan& plan, const std::vector<poly::RowKernel>& kernels);

// Of all groups, of which a compute unit has so many at a time.
double GroupsUs(const RowGroupPlan& plan, const StageCycles& group, double resident,
                const HardwareSettings& settings);

// What the stages that are no products take of the model's time, without the launch. The plan is
// complete but for its products.
double RowStagesUs(const RowGroupPlan& plan, const std::vector<poly::RowKernel>& kernels,
                   const HardwareSettings& settings);

}  // namespace tartan::plan
