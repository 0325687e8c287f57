// SPDX-License-Identifier: Apache-2.0
// Assigns the elements of a tile to adjacent work-items.
#pragma once

#include <vector>

#include "tile/plan/gpu/group_staging.h"
#include "tile/plan/gpu_plan.h"

namespace tartan::plan {

// Returns thread parts where adjacent work-items take adjacent output elements, up to one memory
// line. A warp then covers a two-dimensional block, whose work-items share reads from local memory.
std::vector<ThreadPart> OrderThreads(const GroupProblem& problem, const GpuPlan& plan);

}  // namespace tartan::plan
