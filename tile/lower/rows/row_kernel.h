// SPDX-License-Identifier: Apache-2.0
// Lowers a row fusion (several kernels over the same rows, as in softmax or layer norm) into one
// kernel. On CPUs each work-item computes a block of rows, on GPUs each work-group
// (row_group_kernel.h).
#pragma once

#include <string>
#include <vector>

#include "tile/lower/emit/lower_options.h"
#include "tile/lower/rows/row_stages.h"
#include "tile/plan/rows/row_plan.h"
#include "tile/poly/row_block.h"

namespace tartan::lower {

// `kernels` and `tensors` are those for which the plan was made. Values that the kernel writes are
// outputs, even if it reads them again.
FusedRowKernel LowerRowFusion(const std::vector<poly::RowKernel>& kernels,
                              const std::vector<poly::RowTensor>& tensors,
                              const plan::RowPlan& plan, const std::string& name,
                              const LowerOptions& options);

}  // namespace tartan::lower
