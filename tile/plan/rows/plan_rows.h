// SPDX-License-Identifier: Apache-2.0
// Plans row fusion on CPUs.
#pragma once

#include <cstdint>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/rows/row_plan.h"
#include "tile/poly/row_block.h"

namespace tartan::plan {

// Returns the plan of a fused row kernel. `row_bytes`: bytes of all tensors per row.
RowPlan PlanRows(const std::vector<int64_t>& rows, const std::vector<poly::RowKernel>& kernels,
                 const std::vector<poly::RowTensor>& tensors, int64_t row_bytes,
                 const HardwareSettings& settings);

}  // namespace tartan::plan
