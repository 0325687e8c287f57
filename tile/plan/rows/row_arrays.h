// SPDX-License-Identifier: Apache-2.0
// Which results of a chain's stages take over the local memory of others that nobody reads any
// more.
#pragma once

#include <vector>

#include "tile/plan/rows/row_group_plan.h"
#include "tile/poly/row_block.h"

namespace tartan::plan {

// Of each tensor that is kept for a block: the tensor whose array it lies in, one that an earlier
// stage wrote and that is at least as large; or itself. The plan says what is held in registers.
std::vector<int> ShareArrays(const std::vector<poly::RowKernel>& kernels,
                             const std::vector<poly::RowTensor>& tensors, const RowGroupPlan& plan);

}  // namespace tartan::plan
