// SPDX-License-Identifier: Apache-2.0
// Dynamic-shape plans ("ready" tier): kernels take their sizes as arguments
// (lower::LowerOptions::size_arguments). A plan depends on a kernel's structure only: which index
// has stride 1, and which operand is reused along which index. Kernels of equal structure share one
// text. On GPUs each work-item computes one element.
#pragma once

#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Maximum number of output loops that are divided into tasks: the dimensions of a launch.
inline constexpr int kTaskLoops = 3;

// Plans a kernel by its structure. A tile may exceed the range of an index, so that all sizes from
// 2 on share a kernel. Only reductions with vectors along the results choose a width that fits (16,
// 8, 4, 2 or 1 lanes). The plan depends on the vector width and on settings.threads; tasks, which
// are arguments, also on the number of compute units. `is_constant[t]`: tensor t is known at load
// and may be packed.
PlannedKernel PlanReady(const poly::FlatContraction& flat, const HardwareSettings& settings,
                        const std::vector<bool>& is_constant);

// Returns whether the tile of a reduction has several rows along output index i and no constraint
// depends on i. If the range has fewer rows, such a tile computes one row repeatedly.
bool HasFreeRows(const poly::FlatContraction& flat, const CpuPlan& plan, int i);

}  // namespace tartan::plan
