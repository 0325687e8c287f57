// SPDX-License-Identifier: Apache-2.0
// Steps of recurrent networks by one work-group that keeps their weights.
#pragma once

#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/compiler/schedule.h"
#include "tile/ir/program.h"

namespace tartan::compiler {

// Launches that follow each other, each with a result of the one before, by the same weights, take
// the plan that keeps these from one to the next (plan/gpu/persistent/persistent_search.h) where it
// is predicted to take less time: those of a program that is run again and again, hands on what it
// reads (evaluator/repetition_form.h) and is one launch, and a loop's steps that one program has
// behind each other, where they are enough for a kernel in common (share_kernels.h). On devices
// that run sequences of work-groups. `is_constant`: of the program's values, which are known at
// load; `storage`: which one holds their elements.
void KeepWeights(const ir::Program& program, const std::vector<bool>& is_constant,
                 const std::vector<ir::ValueId>& storage, const HardwareSettings& settings,
                 Schedule* schedule);

}  // namespace tartan::compiler
