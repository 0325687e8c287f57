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

// What sizes decide is taken in few steps: vectors and rows of a tile are as many as fit into the
// ranges, of 16, 8, 4, 2 or 1 lanes and 4, 2 or 1 rows. Depends on the widths of vectors and on the
// number of threads alone; tasks, which are arguments too, on the number of compute units.
// `is_constant` tells of each tensor whether it is known at load, and may be packed then.
PlannedKernel PlanReady(const poly::FlatContraction& flat, const HardwareSettings& settings,
                        const std::vector<bool>& is_constant);

}  // namespace tartan::plan
