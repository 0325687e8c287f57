// SPDX-License-Identifier: Apache-2.0
// Which values of a row its work-items keep in registers, in chains on GPUs. Stages number the
// elements of a row alike, so that a work-item meets the same elements of a tensor in all of them.
#pragma once

#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/rows/row_group_plan.h"

namespace tartan::plan {

// Sets `held` of a plan and what its stages say of it. Results of one element per row are always
// held; of the others, and of what several stages read, as much as leaves enough work-items side
// by side.
void HoldRows(const std::vector<poly::RowKernel>& kernels, const HardwareSettings& settings,
              RowGroupPlan* plan);

}  // namespace tartan::plan
