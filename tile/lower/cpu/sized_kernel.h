// SPDX-License-Identifier: Apache-2.0
// Kernels whose sizes are arguments: the tile is all that their text knows.
#pragma once

#include <string>

#include "tile/loop/loop_ir.h"
#include "tile/lower/lower_options.h"
#include "tile/plan/cpu/cpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

// Parameters as in LowerKernel, and kernel.sizes. Of the plan its tile and the order of its loops
// show in the text; tasks are arguments, one dimension of the launch for each of the outermost
// loops (plan::kTaskLoops). Requires: a plan of plan::PlanReady.
loop::Kernel LowerSizedKernel(const poly::FlatContraction& flat, const plan::CpuPlan& plan,
                              const std::string& name, const LowerOptions& options);

}  // namespace tartan::lower
