// SPDX-License-Identifier: Apache-2.0
// The kernels of a chain for blocks of its rows, where work-items are lanes (GPUs).
#pragma once

#include <cstdint>
#include <vector>

#include "tile/plan/rows/row_group_plan.h"
#include "tile/poly/row_block.h"

namespace tartan::plan {

bool IsOneOf(const std::vector<int>& indices, int index);

// Values of each row axis in a block: `count` of the last.
std::vector<int64_t> RowsOfBlock(const std::vector<int64_t>& rows, int64_t count);

// The kernel for such a block, and for one value of each row axis that it has behind those.
poly::RowBlock CutKernel(const poly::RowKernel& kernel, std::vector<int64_t> block,
                         const std::vector<poly::RowTensor>& tensors);

// A plan for such blocks, that does not say yet how they are divided among work-items: its stages
// have their kernels, the elements of a row, and vectors.
RowGroupPlan CutIntoBlocks(const std::vector<int64_t>& rows,
                           const std::vector<poly::RowKernel>& kernels,
                           const std::vector<poly::RowTensor>& tensors, int64_t count);

}  // namespace tartan::plan
