// SPDX-License-Identifier: Apache-2.0
// Steps whose tiles are copied into local memory while the step before is computed
// (Buffering::kCopies).
#pragma once

#include <cstdint>

#include "tile/base/hardware_settings.h"
#include "tile/plan/gpu/gpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Returns whether the tiles of a plan with several steps may come by copies that pass no register:
// vectors of 16 bytes, of which those outside of the tensor become zero.
bool MayCopyAhead(const poly::FlatContraction& flat, const GpuPlan& plan);

// Local memory for a group: such kernels may have more than OpenCL tells of.
int64_t MostLocalBytes(const GpuPlan& plan, const HardwareSettings& settings);

}  // namespace tartan::plan
