// SPDX-License-Identifier: Apache-2.0
// CPU plans for reductions over few points: pools, counts in windows, and their gradients.
#pragma once

#include <optional>

#include "tile/base/hardware_settings.h"
#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Plans a kernel with all points unrolled, vectors along contiguous outputs, and masks at the
// borders. Empty if reads are not contiguous along vectors, or if the kernel multiplies two
// tensors, whose elements should stay in registers.
std::optional<PlannedKernel> WindowPlan(const poly::FlatContraction& merged,
                                        const HardwareSettings& settings);

}  // namespace tartan::plan
