// SPDX-License-Identifier: Apache-2.0
// Best-first search of tiled GPU plans over the splits of a kernel's indices.
#pragma once

#include <optional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/gpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Returns the best `count` plans, best first. Empty if LowerGroupKernel does not support the
// kernel's form, or if the device has no local memory. Requires merged indices
// (poly::MergeIndices).
std::vector<GpuPlan> SearchGpuPlans(const poly::FlatContraction& flat,
                                    const HardwareSettings& settings, int count);

}  // namespace tartan::plan
