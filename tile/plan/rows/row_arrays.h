// SPDX-License-Identifier: Apache-2.0
// Reuse of local memory among the intermediate results of a fused row kernel.
#pragma once

#include <vector>

#include "tile/plan/rows/row_group_plan.h"
#include "tile/poly/row_block.h"

namespace tartan::plan {

// Returns, for each tensor kept per block, the tensor whose array it uses: one that an earlier
// stage wrote, that is dead by then and large enough; or itself. The plan determines which values
// are in registers instead.
std::vector<int> ShareArrays(const std::vector<poly::RowKernel>& kernels,
                             const std::vector<poly::RowTensor>& tensors, const RowGroupPlan& plan);

}  // namespace tartan::plan
