// SPDX-License-Identifier: Apache-2.0
// What a kernel moves from and to memory, however it is divided.
#pragma once

#include "tile/plan/gpu/gpu_plan.h"
#include "tile/plan/gpu/group_staging.h"

namespace tartan::plan {

// Bytes that memory must give and take at least: of each tensor what the kernel reads of it, and
// what is read beside short runs of neighbours.
double UniqueBytes(const GroupProblem& problem, const GpuPlan& plan);

}  // namespace tartan::plan
