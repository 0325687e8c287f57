// SPDX-License-Identifier: Apache-2.0
// Lowers dynamic-shape CPU kernels: sizes are arguments, only the register tile is fixed in the
// text.
#pragma once

#include <string>

#include "tile/loop/loop_ir.h"
#include "tile/lower/emit/lower_options.h"
#include "tile/plan/cpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

// Parameters as in LowerKernel, followed by kernel.sizes. The text depends on the plan's tile and
// loop order. Task sizes are arguments; each of the outermost plan::kTaskLoops loops is a dimension
// of the launch. Requires a plan of plan::PlanReady.
loop::Kernel LowerDynamicShapeKernel(const poly::FlatContraction& flat, const plan::CpuPlan& plan,
                                     const std::string& name, const LowerOptions& options);

}  // namespace tartan::lower
