// SPDX-License-Identifier: Apache-2.0
// Chooses how a chain of kernels over the same rows is divided that has products of matrices, as
// attention has, on devices whose work-items are lanes (GPUs).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/rows/row_group_plan.h"
#include "tile/poly/row_block.h"

namespace tartan::plan {

// The quickest plan that the model finds, with its time. Nothing where a block does not fit local
// memory, or some kernel is only possible in a launch of its own. Blocks need not divide the last
// axis.
std::optional<RowGroupPlan> PlanRowProducts(const std::vector<int64_t>& rows,
                                            const std::vector<poly::RowKernel>& kernels,
                                            const std::vector<poly::RowTensor>& tensors,
                                            const HardwareSettings& settings);

}  // namespace tartan::plan
