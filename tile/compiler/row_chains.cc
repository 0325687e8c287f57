// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/row_chains.h"

#include <algorithm>

#include "tile/plan/rows/plan_row_groups.h"
#include "tile/plan/rows/plan_rows.h"

namespace tartan::compiler {
namespace {

constexpr int64_t kGpuRowBytes = 1 << 19;  // of which the second cache holds one for each unit

bool IsGpu(const HardwareSettings& settings) { return settings.threads > 1; }

}  // namespace

graph::ChainOptions ChainLimits(const HardwareSettings& settings, bool holds_results) {
  graph::ChainOptions limits;
  limits.cores = settings.compute_units;
  if (!IsGpu(settings)) return limits;
  // Even a quarter of the units is as quick as three launches.
  limits.cores = std::max<int64_t>(settings.compute_units / 4, 1);
  limits.row_bytes = kGpuRowBytes;
  // What registers hold needs no local memory.
  limits.local_bytes =
      holds_results ? 4 * settings.local_memory_bytes : settings.local_memory_bytes / 2;
  return limits;
}

std::optional<RowChainPlan> PlanChain(const graph::RowChain& chain,
                                      const HardwareSettings& settings) {
  if (!IsGpu(settings)) {
    return plan::PlanRows(chain.rows, chain.kernels, chain.tensors, chain.row_bytes, settings);
  }
  auto planned = plan::PlanRowGroups(chain.rows, chain.kernels, chain.tensors, settings);
  if (!planned.has_value()) return std::nullopt;
  return *std::move(planned);
}

bool HoldsInRegisters(const graph::RowChain& chain, const RowChainPlan& plan) {
  const auto* groups = std::get_if<plan::RowGroupPlan>(&plan);
  if (groups == nullptr) return true;
  for (size_t s = 0; s < groups->stages.size(); ++s) {
    if (chain.kernels[s].output >= 0 && groups->stages[s].stores) return false;
  }
  return true;
}

}  // namespace tartan::compiler
