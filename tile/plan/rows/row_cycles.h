// SPDX-License-Identifier: Apache-2.0
// Cost of fused row kernels on GPUs, without launch overhead.
#pragma once

#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/rows/row_group_plan.h"
#include "tile/poly/row_block.h"

namespace tartan::plan {

// Cycles of one work-group. `issue`: instructions, which groups of a compute unit share. `wait`:
// stalls.
struct StageCycles {
  double issue = 0;
  double wait = 0;
};

// Cycles of all stages without a GEMM.
StageCycles RowStagesCycles(const RowGroupPlan& plan, const std::vector<poly::RowKernel>& kernels);

// Microseconds of all work-groups, `resident` of which share a compute unit at a time.
double GroupsUs(const RowGroupPlan& plan, const StageCycles& group, double resident,
                const HardwareSettings& settings);

// Microseconds of the stages without a GEMM. The plan is complete except for its GEMMs.
double RowStagesUs(const RowGroupPlan& plan, const std::vector<poly::RowKernel>& kernels,
                   const HardwareSettings& settings);

}  // namespace tartan::plan
