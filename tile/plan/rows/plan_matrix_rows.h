// SPDX-License-Identifier: Apache-2.0
// Plans fused attention on tensor cores: 128 work-items have a block of 64 rows, whose elements
// stay in the accumulator registers between stages.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/base/precision.h"
#include "tile/plan/rows/row_group_plan.h"
#include "tile/poly/row_block.h"

namespace tartan::plan {

// Returns the fastest plan by the cost model, with its time. Empty if the device has no tensor
// cores or they cannot compute some GEMM stage. Empty, too, if there are fewer rows than a block or
// local memory is too small. Blocks need not divide the last row axis.
std::optional<RowGroupPlan> PlanTensorCoreRows(const std::vector<int64_t>& rows,
                                               const std::vector<poly::RowKernel>& kernels,
                                               const std::vector<poly::RowTensor>& tensors,
                                               const HardwareSettings& settings,
                                               MatrixFormat format);

}  // namespace tartan::plan
