// SPDX-License-Identifier: Apache-2.0
// Compulsory memory traffic of a kernel, independent of tiling.
#pragma once

#include "tile/plan/gpu/group_staging.h"
#include "tile/plan/gpu_plan.h"

namespace tartan::plan {

// Bytes that the kernel must move from and to memory: the parts of tensors that it reads or writes,
// and the unused parts of sectors when contiguous spans are short.
double UniqueBytes(const GroupProblem& problem, const GpuPlan& plan);

}  // namespace tartan::plan
