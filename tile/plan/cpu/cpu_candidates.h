// SPDX-License-Identifier: Apache-2.0
// Plans for CPU devices: one work-item per work-group, explicit vectors, loops ordered so that what
// is used again is still in a cache.
#pragma once

#include "tile/base/hardware_settings.h"
#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// The `count` best by the cost model, of each register tile the best order of loops.
std::vector<PlannedKernel> CpuCandidates(const poly::FlatContraction& flat,
                                         const HardwareSettings& settings,
                                         const std::vector<bool>& is_constant, int count);

}  // namespace tartan::plan
