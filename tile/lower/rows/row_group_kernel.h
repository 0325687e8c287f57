// SPDX-License-Identifier: Apache-2.0
// Lowers a row fusion for GPUs: one kernel whose work-groups each compute a block of rows.
#pragma once

#include <string>
#include <vector>

#include "tile/lower/emit/lower_options.h"
#include "tile/lower/rows/row_stages.h"
#include "tile/plan/rows/row_group_plan.h"

namespace tartan::lower {

// Like LowerRowFusion; intermediate values of a block are in local memory.
FusedRowKernel LowerRowGroups(const std::vector<poly::RowKernel>& kernels,
                              const std::vector<poly::RowTensor>& tensors,
                              const plan::RowGroupPlan& plan, const std::string& name,
                              const LowerOptions& options);

}  // namespace tartan::lower
