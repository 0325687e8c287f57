// SPDX-License-Identifier: Apache-2.0
// How products in chains read what is in local memory already.
#pragma once

#include "tile/plan/gpu/gpu_plan.h"
#include "tile/plan/gpu/group_staging.h"

namespace tartan::plan {

// Adds accesses of such tensors to what a plan stages (StagedAccess::is_there), where work-items
// read them in vectors along a reduced index: each is then read once for all results that it adds
// to. Behind StageAccesses.
void StageLocal(const GroupProblem& problem, GpuPlan* plan);

}  // namespace tartan::plan
