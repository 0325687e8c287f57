// SPDX-License-Identifier: Apache-2.0
// Plans for sums, maxima and the like over the rows of large tensors on CPUs: gradients of biases
// and scales, reductions along outer axes.
#pragma once

#include <optional>

#include "tile/base/hardware_settings.h"
#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Several rows at a time are walked along long runs of neighbours, as memory gives them quickest,
// while the partial results of all columns wait in the first cache. Nothing where the kernel is no
// reduction across rows, reads elements more than once, or is small enough for a cache.
std::optional<PlannedKernel> ColumnPlan(const poly::FlatContraction& merged,
                                        const HardwareSettings& settings);

}  // namespace tartan::plan
