// SPDX-License-Identifier: Apache-2.0
// Chooses how a chain with products of matrices is divided, as attention is, whose products a GPU's
// matrix unit makes: a warp group has a block of 64 rows, whose elements stay where the unit leaves
// them, in registers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/base/precision.h"
#include "tile/plan/rows/row_group_plan.h"
#include "tile/poly/row_block.h"

namespace tartan::plan {

// The quickest plan that the model finds, with its time. Nothing where the device has no such unit,
// some product is none for it, there are fewer rows, or what is kept of them does not fit local
// memory. Blocks need not divide the last axis.
std::optional<RowGroupPlan> PlanMatrixRows(const std::vector<int64_t>& rows,
                                           const std::vector<poly::RowKernel>& kernels,
                                           const std::vector<poly::RowTensor>& tensors,
                                           const HardwareSettings& settings, MatrixFormat format);

}  // namespace tartan::plan
