// SPDX-License-Identifier: Apache-2.0
// Chooses how a chain with products of matrices walks its rows in blocks (poly::FindOnlineRows), as
// attention of many keys does, on devices whose work-items are lanes (GPUs).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/rows/row_group_plan.h"
#include "tile/poly/row_block.h"

namespace tartan::plan {

// The quickest plan that the model finds, with its time. Nothing where the chain has another form,
// its rows are short, or a block does not fit local memory.
std::optional<RowGroupPlan> PlanOnlineRows(const std::vector<int64_t>& rows,
                                           const std::vector<poly::RowKernel>& kernels,
                                           const std::vector<poly::RowTensor>& tensors,
                                           const HardwareSettings& settings);

// A plan of PlanOnlineRows for another chain of the same form.
void CutOnlineRows(const std::vector<poly::RowKernel>& kernels,
                   const std::vector<poly::RowTensor>& tensors, RowGroupPlan* plan);

}  // namespace tartan::plan
