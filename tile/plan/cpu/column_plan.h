// SPDX-License-Identifier: Apache-2.0
// CPU plans for reductions over the rows of large tensors: bias gradients, scale gradients,
// reductions along outer axes.
#pragma once

#include <optional>

#include "tile/base/hardware_settings.h"
#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Plans a reduction that reads several rows at a time along long contiguous spans, while partial
// results of all columns stay in L1. Empty if the kernel does not reduce across rows, reads
// elements more than once, or fits a cache.
std::optional<PlannedKernel> ColumnPlan(const poly::FlatContraction& merged,
                                        const HardwareSettings& settings);

}  // namespace tartan::plan
