// SPDX-License-Identifier: Apache-2.0
// Entry point of planning: chooses the plan of a kernel among the proposals of all planners.
#pragma once

#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/base/precision.h"
#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Returns the plan with the lowest predicted time; never fails. A device with settings.threads == 1
// is a CPU. `is_constant[t]`: a packed copy of tensor t can be made once, at load. `precision`
// decides whether GEMMs may use tensor cores.
PlannedKernel PlanKernel(const poly::FlatContraction& flat, const HardwareSettings& settings,
                         const std::vector<bool>& is_constant,
                         Precision precision = Precision::kFloat32);

// Returns up to `count` plans, best first, for tuning to measure. The first one equals PlanKernel's
// result.
std::vector<PlannedKernel> PlanCandidates(const poly::FlatContraction& flat,
                                          const HardwareSettings& settings,
                                          const std::vector<bool>& is_constant, int count,
                                          Precision precision = Precision::kFloat32);

}  // namespace tartan::plan
