// SPDX-License-Identifier: Apache-2.0
// The best plan of a kernel for a GPU, by best-first search over how its indices are split.
#pragma once

#include <optional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/gpu/gpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// The best `count` plans that were found, the best first. None where the kernel is not of a form
// that LowerGroupKernel knows, or the device has no local memory. Of a kernel with merged indices
// (poly::MergeIndices).
std::vector<GpuPlan> SearchGpuPlans(const poly::FlatContraction& flat,
                                    const HardwareSettings& settings, int count);

}  // namespace tartan::plan
