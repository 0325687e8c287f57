// SPDX-License-Identifier: Apache-2.0
// A chain of kernels over the same rows becomes one kernel whose work-groups have a block of rows
// each.
#pragma once

#include <string>
#include <vector>

#include "tile/lower/lower_options.h"
#include "tile/lower/rows/row_stages.h"
#include "tile/plan/rows/row_group_plan.h"

namespace tartan::lower {

// As LowerRowChain; what is kept for a block is in local memory.
RowChainKernel LowerRowGroups(const std::vector<poly::RowKernel>& kernels,
                              const std::vector<poly::RowTensor>& tensors,
                              const plan::RowGroupPlan& plan, const std::string& name,
                              const LowerOptions& options);

}  // namespace tartan::lower
