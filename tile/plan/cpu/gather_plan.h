// SPDX-License-Identifier: Apache-2.0
// CPU plans for elementwise kernels with computed coordinates that differ between lanes: gathers
// along the last axis.
#pragma once

#include <optional>

#include "tile/base/hardware_settings.h"
#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Plans several rows per tile that share each lane's coordinates, because computing them takes
// longer than the reads. Empty if the kernel has no such read, or no rows share one.
std::optional<PlannedKernel> GatherPlan(const poly::FlatContraction& merged,
                                        const HardwareSettings& settings);

}  // namespace tartan::plan
