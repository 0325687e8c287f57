// SPDX-License-Identifier: Apache-2.0
// Divides the work of a CPU kernel among work-items.
#pragma once

#include <cstdint>
#include <functional>

#include "tile/plan/cpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Divides the outermost loops of a plan with one work-item until there are about `wanted`
// work-items. Loops for which `may_cut` returns false stay whole.
void CutTasks(
    const poly::FlatContraction& flat, int64_t wanted, CpuPlan* plan,
    const std::function<bool(int index)>& may_cut = [](int) { return true; });

}  // namespace tartan::plan
