// SPDX-License-Identifier: Apache-2.0
// CPU plans for a GEMM of few rows by a large matrix, as for one token or a few images. Reading the
// matrix limits the speed.
#pragma once

#include <optional>

#include "tile/base/hardware_settings.h"
#include "tile/plan/kernel_plan.h"
#include "tile/plan/launch_context.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Plans a kernel that reads the matrix once for all rows, in several long streams. If results are
// contiguous along the matrix's rows, partial results stay in L1. If the sum runs along them,
// vectors hold partial results. On processors that prefetch one stream best, a constant matrix is
// packed (packed_stream.h). Empty for other kernels and for matrices that fit a cache.
std::optional<PlannedKernel> StreamPlan(const poly::FlatContraction& merged,
                                        const HardwareSettings& settings,
                                        const LaunchContext& launch);

}  // namespace tartan::plan
