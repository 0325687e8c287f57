// SPDX-License-Identifier: Apache-2.0
// Vector reads of tensors that are already in local memory, for GEMM stages of fused row kernels.
#pragma once

#include "tile/plan/gpu/group_staging.h"
#include "tile/plan/gpu_plan.h"

namespace tartan::plan {

// Adds such accesses to the plan's staged ones (StagedAccess::is_there), if work-items read them in
// vectors along a reduced index. Each vector is then read once for all results that it contributes
// to. Requires a call of StageAccesses.
void StageLocal(const GroupProblem& problem, GpuPlan* plan);

}  // namespace tartan::plan
