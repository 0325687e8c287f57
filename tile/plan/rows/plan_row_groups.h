// SPDX-License-Identifier: Apache-2.0
// Plans row fusion without GEMMs on GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/rows/row_group_plan.h"
#include "tile/poly/row_block.h"

namespace tartan::plan {

// Returns a plan whose blocks divide the last row axis. Empty if some kernel needs a launch of its
// own or is faster there.
std::optional<RowGroupPlan> PlanRowGroups(const std::vector<int64_t>& rows,
                                          const std::vector<poly::RowKernel>& kernels,
                                          const std::vector<poly::RowTensor>& tensors,
                                          const HardwareSettings& settings);

}  // namespace tartan::plan
