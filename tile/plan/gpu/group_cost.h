// SPDX-License-Identifier: Apache-2.0
// Cost of tiled GPU plans: a model of one compute unit. It counts instructions, local memory
// accesses with bank conflicts, memory sectors, and resident work-groups.
#pragma once

#include "tile/base/hardware_settings.h"
#include "tile/plan/gpu/group_staging.h"
#include "tile/plan/gpu_plan.h"

namespace tartan::plan {

// Estimates the cost of a plan that is complete except for its cost. Infinite microseconds if the
// plan does not fit the device.
GroupCost EstimateGroupCost(const GroupProblem& problem, const GpuPlan& plan,
                            const HardwareSettings& settings);

// Estimated 32-bit registers per work-item.
double RegisterCount(const GroupProblem& problem, const GpuPlan& plan);

}  // namespace tartan::plan
