// SPDX-License-Identifier: Apache-2.0
// A chain of kernels over the same rows becomes one kernel: for CPU devices, whose work-items have
// a block of rows each, or for work-groups that do (row_group_kernel.h).
#pragma once

#include <string>
#include <vector>

#include "tile/lower/lower_options.h"
#include "tile/lower/rows/row_stages.h"
#include "tile/plan/rows/row_plan.h"
#include "tile/poly/row_block.h"

namespace tartan::lower {

// `kernels` and `tensors` are what the plan was made for. Values that the chain writes are outputs,
// also where it reads them again.
RowChainKernel LowerRowChain(const std::vector<poly::RowKernel>& kernels,
                             const std::vector<poly::RowTensor>& tensors, const plan::RowPlan& plan,
                             const std::string& name, const LowerOptions& options);

}  // namespace tartan::lower
