// SPDX-License-Identifier: Apache-2.0
// Entry point of planning: chooses the plan of a kernel among the proposals of all planners.
#pragma once

#include <functional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/base/precision.h"
#include "tile/plan/kernel_plan.h"
#include "tile/plan/launch_context.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Returns the plan with the lowest predicted time; never fails. A device with settings.threads == 1
// is a CPU. `precision` decides whether GEMMs may use tensor cores.
PlannedKernel PlanKernel(const poly::FlatContraction& flat, const HardwareSettings& settings,
                         const LaunchContext& launch, Precision precision = Precision::kFloat32);

// Plans a kernel in place of PlanKernel.
using PlanFunction =
    std::function<PlannedKernel(const poly::FlatContraction& flat, const LaunchContext& launch)>;

// Returns up to `count` plans, best first, for tuning to measure. The first one equals PlanKernel's
// result.
std::vector<PlannedKernel> PlanCandidates(const poly::FlatContraction& flat,
                                          const HardwareSettings& settings,
                                          const LaunchContext& launch, int count,
                                          Precision precision = Precision::kFloat32);

}  // namespace tartan::plan
