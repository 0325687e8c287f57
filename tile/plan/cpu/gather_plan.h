// SPDX-License-Identifier: Apache-2.0
// Plans for elementwise kernels on CPUs that read at computed coordinates which differ from lane to
// lane: gathers along the last axis.
#pragma once

#include <optional>

#include "tile/base/hardware_settings.h"
#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Several rows side by side, which share the coordinates of each lane: computing them takes longer
// than reading there. Nothing where no such read is in the kernel, or none that rows share.
std::optional<PlannedKernel> GatherPlan(const poly::FlatContraction& merged,
                                        const HardwareSettings& settings);

}  // namespace tartan::plan
