// SPDX-License-Identifier: Apache-2.0
// Chooses how a chain of kernels over the same rows is divided on CPU devices.
#pragma once

#include <cstdint>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/rows/row_plan.h"
#include "tile/poly/row_block.h"

namespace tartan::plan {

// `row_bytes` is what all tensors have of one row.
RowPlan PlanRows(const std::vector<int64_t>& rows, const std::vector<poly::RowKernel>& kernels,
                 const std::vector<poly::RowTensor>& tensors, int64_t row_bytes,
                 const HardwareSettings& settings);

}  // namespace tartan::plan
