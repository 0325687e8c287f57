// SPDX-License-Identifier: Apache-2.0
// Plans row fusion with GEMM stages on GPUs, such as attention, without tensor cores.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/rows/row_group_plan.h"
#include "tile/poly/row_block.h"

namespace tartan::plan {

// Returns the fastest plan by the cost model, with its time. Empty if a block does not fit local
// memory, or if some kernel needs a launch of its own. Blocks need not divide the last row axis.
std::optional<RowGroupPlan> PlanRowGemms(const std::vector<int64_t>& rows,
                                         const std::vector<poly::RowKernel>& kernels,
                                         const std::vector<poly::RowTensor>& tensors,
                                         const HardwareSettings& settings);

}  // namespace tartan::plan
