// SPDX-License-Identifier: Apache-2.0
// Launches that compute what another one alone reads, joined with that one.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "tile/compiler/schedule.h"
#include "tile/ir/program.h"
#include "tile/plan/kernel_plan.h"

namespace tartan::compiler {

// A kernel that computes what `reader` does without reading `result`, the only output of
// `producer`; nothing where they stay apart. All tensors have the values whose memory they are.
using JoinKernels = std::function<std::optional<plan::PlannedKernel>(
    const plan::PlannedKernel& reader, const plan::PlannedKernel& producer, ir::ValueId result)>;

// Launches of each run, as far as `join` makes one of two. `storage`: of the program's values,
// which one holds their elements.
void JoinWithReaders(const ir::Program& program, const std::vector<ir::ValueId>& storage,
                     const JoinKernels& join, Schedule* schedule);

}  // namespace tartan::compiler
