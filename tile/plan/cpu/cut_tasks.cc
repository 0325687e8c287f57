// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/cpu/cut_tasks.h"

#include <algorithm>

#include "tile/math/integer.h"

namespace tartan::plan {

void CutTasks(const poly::FlatContraction& flat, int64_t wanted, CpuPlan* plan,
              const std::function<bool(int)>& may_cut) {
  for (const int i : plan->order) {
    const int64_t items = plan->ItemCount(flat);
    if (items >= wanted) break;
    if (!may_cut(i)) continue;
    const int64_t steps = math::CeilDiv(plan->task[i], plan->unroll[i]);
    const int64_t parts = std::min(steps, math::CeilDiv(wanted, std::max<int64_t>(items, 1)));
    if (parts > 1) plan->task[i] = math::CeilDiv(steps, parts) * plan->unroll[i];
  }
}

}  // namespace tartan::plan
