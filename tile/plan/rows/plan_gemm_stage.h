// SPDX-License-Identifier: Apache-2.0
// Tiled plan of a GEMM stage of a fused row kernel on GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/gpu_plan.h"
#include "tile/plan/rows/row_group_plan.h"

namespace tartan::plan {

// Returns the fastest plan for `threads` work-items, a power of two; its cost is the time of all
// work-groups and a launch. Empty if there is none, or unless the kernel is rows by columns with
// one reduced index.
// - blocks: number of blocks along each row axis.
// - is_local: per tensor, whether it is in local memory; is_local_output: the result is.
// - settings: their local memory size is the limit for this stage.
// - holds_local: work-items read vectors from local memory into registers.
std::optional<GpuPlan> PlanGemmStage(const RowGroupStage& stage, const std::vector<bool>& is_local,
                                     bool is_local_output, const std::vector<int64_t>& blocks,
                                     int64_t threads, const HardwareSettings& settings,
                                     bool holds_local = false);

}  // namespace tartan::plan
