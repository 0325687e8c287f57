// SPDX-License-Identifier: Apache-2.0
// What a plan for a GPU will cost: a model of one compute unit that counts instructions, accesses
// to local memory with their bank conflicts, memory sectors, and the groups that run side by side.
#pragma once

#include "tile/base/hardware_settings.h"
#include "tile/plan/gpu/gpu_plan.h"
#include "tile/plan/gpu/group_staging.h"

namespace tartan::plan {

// Sets nothing; `plan` is complete but for its cost. Infinite microseconds where the plan does not
// fit the device.
GroupCost EstimateGroupCost(const GroupProblem& problem, const GpuPlan& plan,
                            const HardwareSettings& settings);

// 32-bit registers of a work-item, estimated.
double RegisterCount(const GroupProblem& problem, const GpuPlan& plan);

}  // namespace tartan::plan
