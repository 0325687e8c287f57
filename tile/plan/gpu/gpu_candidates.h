// SPDX-License-Identifier: Apache-2.0
// Plans for devices whose work-items are lanes (GPUs).
#pragma once

#include <optional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"
#include "tile/poly/split_reduction.h"

namespace tartan::plan {

// Up to `count` plans, the best first, and at least one. Of a kernel with merged indices.
std::vector<PlannedKernel> GpuCandidates(const poly::FlatContraction& flat,
                                         const HardwareSettings& settings, int count);

// The kernel that aggregates what `split.partial` computes in `partial_us`, which is a part of it;
// nothing where it has no plan in groups.
std::optional<PlannedKernel> PlanTotal(poly::SplitKernel split, double partial_us,
                                       const HardwareSettings& settings);

}  // namespace tartan::plan
