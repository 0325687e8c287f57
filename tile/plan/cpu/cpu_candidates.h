// SPDX-License-Identifier: Apache-2.0
// CPU plans: one work-item per work-group, explicit vectors, and a loop order that reuses data
// while it is in a cache.
#pragma once

#include "tile/base/hardware_settings.h"
#include "tile/plan/kernel_plan.h"
#include "tile/plan/launch_context.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Returns the `count` best plans by the cost model, with the best loop order of each register tile.
std::vector<PlannedKernel> CpuCandidates(const poly::FlatContraction& flat,
                                         const HardwareSettings& settings,
                                         const LaunchContext& launch, int count);

}  // namespace tartan::plan
