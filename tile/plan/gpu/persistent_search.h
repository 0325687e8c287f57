// SPDX-License-Identifier: Apache-2.0
// Proposes persistent plans for recurrent steps whose weights fit one compute unit.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/kernel_plan.h"

namespace tartan::plan {

// Plans a kernel as one persistent work-group, for consecutive launches. Empty unless:
// - it is a float32 GEMM of at most four rows by constants, perhaps with joined sums
//   (FlatContraction::accumulator_index);
// - registers and local memory hold the weights;
// - the device supports persistent megakernels.
// `is_constant[t]`: no run changes tensor t. `is_next(tensor, output)`: the next launch probably
// reads `output` of this one as `tensor`; both are positions.
std::optional<PlannedKernel> PersistentCandidate(
    const poly::FlatContraction& flat, const HardwareSettings& settings,
    const std::vector<bool>& is_constant,
    const std::function<bool(int tensor, int output)>& is_next);

}  // namespace tartan::plan
