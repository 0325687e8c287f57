// SPDX-License-Identifier: Apache-2.0
// Plans fused attention with online softmax on GPUs: rows are processed in blocks of keys
// (poly::FindOnlineSoftmax).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/rows/row_group_plan.h"
#include "tile/poly/row_block.h"

namespace tartan::plan {

// Returns the fastest plan by the cost model, with its time. Empty if the kernels have another
// form, if rows are short, or if a block does not fit local memory.
std::optional<RowGroupPlan> PlanOnlineRows(const std::vector<int64_t>& rows,
                                           const std::vector<poly::RowKernel>& kernels,
                                           const std::vector<poly::RowTensor>& tensors,
                                           const HardwareSettings& settings);

// Adapts a plan of PlanOnlineRows to other kernels of the same form.
void CutOnlineRows(const std::vector<poly::RowKernel>& kernels,
                   const std::vector<poly::RowTensor>& tensors, RowGroupPlan* plan);

}  // namespace tartan::plan
