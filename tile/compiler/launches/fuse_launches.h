// SPDX-License-Identifier: Apache-2.0
// Framework for passes that fuse a launch into the only launch that reads its result.
#pragma once

#include <functional>
#include <optional>

#include "tile/compiler/schedule.h"
#include "tile/fuse/judge.h"
#include "tile/graph/fusion_log.h"
#include "tile/ir/program.h"
#include "tile/plan/kernel_plan.h"

namespace tartan::compiler {

// Returns a kernel that computes the results of `reader` without reading `result`, the only output
// of `producer`; nothing if the two kernels stay separate. Each tensor's value is the owner of its
// memory. `decision` receives predicted times and, if the rule was considered, a reason.
using FuseKernels = std::function<std::optional<plan::PlannedKernel>(
    const plan::PlannedKernel& reader, const plan::PlannedKernel& producer, ir::ValueId result,
    graph::FusionDecision* decision)>;

// Fuses pairs of launches of a run for which `join` returns a kernel. The judge records the
// decisions of `rule`.
void FuseLaunches(const ir::Program& program, graph::FusionRule rule, const FuseKernels& join,
                  fuse::Judge* judge, Schedule* schedule);

}  // namespace tartan::compiler
