// SPDX-License-Identifier: Apache-2.0
// Proposes streamed-weight plans (row_stream_plan.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/kernel_plan.h"

namespace tartan::plan {

// Plans a kernel with its weights packed as [block] [K] [column]. Empty unless:
// - it is a float32 GEMM of at most four rows by constants;
// - the weights have `least_bytes` or more; smaller ones stay in L2;
// - a block of weights fits local memory;
// - the device supports persistent megakernels of that much local memory.
// `is_constant[t]`: no run changes tensor t.
std::optional<PlannedKernel> RowStreamCandidate(const poly::FlatContraction& flat,
                                                const HardwareSettings& settings,
                                                const std::vector<bool>& is_constant,
                                                int64_t least_bytes = 1 << 20);

}  // namespace tartan::plan
