// SPDX-License-Identifier: Apache-2.0
// Cuts the kernels of a GPU's fused row kernel into blocks of rows.
#pragma once

#include <cstdint>
#include <vector>

#include "tile/plan/rows/row_group_plan.h"
#include "tile/poly/row_block.h"

namespace tartan::plan {

bool IsOneOf(const std::vector<int>& indices, int index);

// Values of each row axis in a block: `count` of the last axis, one of the others.
std::vector<int64_t> RowsOfBlock(const std::vector<int64_t>& rows, int64_t count);

// Returns the kernel for such a block. It has one value of each row axis that precedes the block's.
poly::RowBlock CutKernel(const poly::RowKernel& kernel, std::vector<int64_t> block,
                         const std::vector<poly::RowTensor>& tensors);

// Returns a plan for such blocks, without the division among work-items. Its stages have their
// kernels, inner indices and vector widths.
RowGroupPlan CutIntoBlocks(const std::vector<int64_t>& rows,
                           const std::vector<poly::RowKernel>& kernels,
                           const std::vector<poly::RowTensor>& tensors, int64_t count);

}  // namespace tartan::plan
