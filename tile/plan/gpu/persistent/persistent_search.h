// SPDX-License-Identifier: Apache-2.0
// Proposes plans for steps of recurrent networks whose weights fit one compute unit.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/kernel_plan.h"

namespace tartan::plan {

// The kernel by one work-group, where it is a product of at most four rows of float32 by constants,
// of which each element may be made of several (FlatContraction::joined_index), registers and local
// memory have room for all of them, and the device runs sequences. For kernels whose launches
// follow each other. `is_constant`: of each tensor, whether no run changes it. `is_next`: whether
// the next launch is likely to have an output for a tensor, both told by position.
std::optional<PlannedKernel> PersistentCandidate(
    const poly::FlatContraction& flat, const HardwareSettings& settings,
    const std::vector<bool>& is_constant,
    const std::function<bool(int tensor, int output)>& is_next);

}  // namespace tartan::plan
