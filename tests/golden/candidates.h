// SPDX-License-Identifier: Apache-2.0
// Records, as text, the plans that tuning would measure for each kernel.
#pragma once

#include <string>

#include "tile/base/hardware_settings.h"
#include "tile/codegen/dialect.h"
#include "tile/plan/select/select_plan.h"

namespace tartan::golden {

// Returns a CompileOptions::planner that uses the cost model's choice. It appends the first `count`
// candidates of each kernel to `text`: plan, hash of the kernels, and whether the tuning
// database returns the same plan. The arguments must outlive the planner.
plan::PlanFunction CandidateRecorder(int count, const HardwareSettings& settings,
                                     const codegen::Dialect& dialect, std::string* text);

}  // namespace tartan::golden
