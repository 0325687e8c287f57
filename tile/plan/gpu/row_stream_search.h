// SPDX-License-Identifier: Apache-2.0
// Proposes plans for products of few rows by constant weights.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/kernel_plan.h"

namespace tartan::plan {

// The kernel with its weights packed by blocks of columns ([block] [depth] [column]), where it is a
// product of at most four rows of float32 by constants, blocks fit in local memory, and the device
// runs sequences and takes kernels with that much of it. `is_constant`: of each tensor, whether no
// run changes it. Of weights below `least_bytes` nothing: they stay in the second cache.
std::optional<PlannedKernel> RowStreamCandidate(const poly::FlatContraction& flat,
                                                const HardwareSettings& settings,
                                                const std::vector<bool>& is_constant,
                                                int64_t least_bytes = 1 << 20);

}  // namespace tartan::plan
