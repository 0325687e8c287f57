// SPDX-License-Identifier: Apache-2.0
// Chooses how a chain of kernels over the same rows is divided on devices whose work-items are
// lanes (GPUs).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/rows/row_group_plan.h"
#include "tile/poly/row_block.h"

namespace tartan::plan {

// Nothing where some kernel of the chain is better off, or only possible, in a launch of its own.
// Blocks divide the last axis evenly.
std::optional<RowGroupPlan> PlanRowGroups(const std::vector<int64_t>& rows,
                                          const std::vector<poly::RowKernel>& kernels,
                                          const std::vector<poly::RowTensor>& tensors,
                                          const HardwareSettings& settings);

}  // namespace tartan::plan
