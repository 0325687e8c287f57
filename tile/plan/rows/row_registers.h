// SPDX-License-Identifier: Apache-2.0
// Register allocation of row values in fused row kernels on GPUs. All stages number the elements of
// a row alike, so that a work-item has the same elements of a tensor in each.
#pragma once

#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/rows/row_group_plan.h"

namespace tartan::plan {

// Sets `held` of a plan and its stages' references. Results of one element per row are always in
// registers. Other results, and values that several stages read, are in registers as far as
// occupancy permits.
void AllocateRowRegisters(const std::vector<poly::RowKernel>& kernels,
                          const HardwareSettings& settings, RowGroupPlan* plan);

}  // namespace tartan::plan
