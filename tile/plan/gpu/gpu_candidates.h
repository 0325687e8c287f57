// SPDX-License-Identifier: Apache-2.0
// Tiled GPU plans, best first.
#pragma once

#include <optional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"
#include "tile/poly/split_reduction.h"

namespace tartan::plan {

// Returns up to `count` plans, and one or more in any case. Requires merged indices.
std::vector<PlannedKernel> GpuCandidates(const poly::FlatContraction& flat,
                                         const HardwareSettings& settings, int count);

// Plans the second kernel of a split reduction, which aggregates the results of `split.partial`.
// `partial_us` is the predicted time of the first kernel and is included in the result's. Empty if
// the second kernel has no tiled plan.
std::optional<PlannedKernel> PlanTotal(poly::SplitKernel split, double partial_us,
                                       const HardwareSettings& settings);

}  // namespace tartan::plan
