// SPDX-License-Identifier: Apache-2.0
// Plans for kernels whose sizes are arguments: chosen by a kernel's structure (which index its
// accesses follow with stride 1, which operand is used again along which index), not by its sizes,
// so that kernels of one structure have one text (lower::LowerOptions::size_arguments). On GPUs
// each work-item computes one element.
#pragma once

#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// The outermost loops with tasks of their own, at most: dimensions of a launch.
inline constexpr int kTaskLoops = 3;

// Tiles may be greater than the ranges: kernels of every size from 2 on have the same. Only
// reductions whose vectors lie along the results take vectors that fit, of 16, 8, 4, 2 or 1 lanes.
// Depends on the widths of vectors and on the number of threads alone; tasks, which are arguments
// too, on the number of compute units. `is_constant` tells of each tensor whether it is known at
// load, and may be packed then.
PlannedKernel PlanReady(const poly::FlatContraction& flat, const HardwareSettings& settings,
                        const std::vector<bool>& is_constant);

// The tile has several rows along output index i of a reduction, and no constraint sees which.
// Where there are fewer than that, the tile is one row, computed as often.
bool HasFreeRows(const poly::FlatContraction& flat, const CpuPlan& plan, int i);

}  // namespace tartan::plan
