// SPDX-License-Identifier: Apache-2.0
// Software pipelining of a step's tiles by asynchronous copies (Buffering::kAsyncCopies).
#pragma once

#include <cstdint>

#include "tile/base/hardware_settings.h"
#include "tile/plan/gpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Returns whether the tiles of a plan with several steps can be loaded by asynchronous copies.
// These move 16-byte vectors without registers; vectors outside of the tensor become zero.
bool CanCopyAsync(const poly::FlatContraction& flat, const GpuPlan& plan);

// Bytes of local memory available to a work-group. Kernels with asynchronous copies may use more
// than OpenCL reports.
int64_t MostLocalBytes(const GpuPlan& plan, const HardwareSettings& settings);

}  // namespace tartan::plan
