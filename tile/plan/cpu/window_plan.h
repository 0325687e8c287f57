// SPDX-License-Identifier: Apache-2.0
// Plans for reductions over a few points on CPUs: pools, counts in windows, the gradients of both.
#pragma once

#include <optional>

#include "tile/base/hardware_settings.h"
#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// The points unrolled one after the other, in vectors along the outputs' neighbours; edges are
// masks. Nothing where reads are not along vectors, or the kernel multiplies two tensors: its
// operands want to stay in registers.
std::optional<PlannedKernel> WindowPlan(const poly::FlatContraction& merged,
                                        const HardwareSettings& settings);

}  // namespace tartan::plan
