// SPDX-License-Identifier: Apache-2.0
// Which elements neighbouring work-items of a group have.
#pragma once

#include <vector>

#include "tile/plan/gpu/gpu_plan.h"
#include "tile/plan/gpu/group_staging.h"

namespace tartan::plan {

// Neighbouring work-items take neighbouring elements of the output, but not more than fill a memory
// line, so that a warp is a block in two dimensions and shares what it reads from local memory.
std::vector<ThreadPart> OrderThreads(const GroupProblem& problem, const GpuPlan& plan);

}  // namespace tartan::plan
