// SPDX-License-Identifier: Apache-2.0
// How products in chains read what is in local memory already.
#pragma once

#include "tile/plan/gpu/gpu_plan.h"
#include "tile/plan/gpu/group_staging.h"

namespace tartan::plan {

// Adds an access of such a tensor to what a plan stages (StagedAccess::is_there), where work-items
// read it in vectors along a reduced index: each is then read once for all results that it adds to.
void StageLocal(const GroupProblem& problem, int number, GpuPlan* plan);

}  // namespace tartan::plan
