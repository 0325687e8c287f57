// SPDX-License-Identifier: Apache-2.0
// How a work-group computes a product of matrices that is a stage of a chain over rows.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/gpu/gpu_plan.h"
#include "tile/plan/rows/row_group_plan.h"

namespace tartan::plan {

// The quickest plan for `threads` work-items, a power of two, of the stage of a chain whose blocks
// are `blocks` in number along each row axis. `is_local` tells which of the kernel's tensors are in
// local memory, `is_local_output` whether its result is; of it, the product may take what the
// settings say; where it `holds_local`, work-items hold vectors of what they read there. Its cost
// is that of all groups, with a launch. Nothing where there is none, or the kernel has another form
// than rows by columns by one depth.
std::optional<GpuPlan> PlanProduct(const RowGroupStage& stage, const std::vector<bool>& is_local,
                                   bool is_local_output, const std::vector<int64_t>& blocks,
                                   int64_t threads, const HardwareSettings& settings,
                                   bool holds_local = false);

}  // namespace tartan::plan
