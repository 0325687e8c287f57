// SPDX-License-Identifier: Apache-2.0
// Proposes streamed-weight plans (row_stream_plan.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/kernel_plan.h"

namespace tartan::plan {

// Plans a kernel with its weights packed as [block] [K] [column]. Requires a float32 GEMM of at
// most four rows by constants, blocks that fit local memory, and a device with persistent
// megakernels of that much local memory; else empty. `is_constant[t]`: no run changes tensor t.
// Empty for weights smaller than `least_bytes`, which stay in L2.
std::optional<PlannedKernel> RowStreamCandidate(const poly::FlatContraction& flat,
                                                const HardwareSettings& settings,
                                                const std::vector<bool>& is_constant,
                                                int64_t least_bytes = 1 << 20);

}  // namespace tartan::plan
