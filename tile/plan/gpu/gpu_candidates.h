// SPDX-License-Identifier: Apache-2.0
// Plans for devices whose work-items are lanes (GPUs).
#pragma once

#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Up to `count` plans, the best first, and at least one. Of a kernel with merged indices.
std::vector<PlannedKernel> GpuCandidates(const poly::FlatContraction& flat,
                                         const HardwareSettings& settings, int count);

}  // namespace tartan::plan
