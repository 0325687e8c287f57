// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/chains/row_chains.h"

#include <algorithm>
#include <vector>

#include "tile/plan/machine.h"
#include "tile/plan/rows/plan_row_groups.h"
#include "tile/plan/rows/plan_rows.h"
#include "tile/plan/select_plan.h"

namespace tartan::compiler {
namespace {

// Points per row; one work-group computes them in less than a launch's time.
constexpr int64_t kGpuRowPoints = 1 << 13;
// Bytes per row; the L2 cache holds one row per compute unit.
constexpr int64_t kGpuRowBytes = 1 << 19;

bool IsGpu(const HardwareSettings& settings) { return settings.threads > 1; }

// Compares a chain with separate kernels, for rows whose elements are interleaved in memory
// (Layout::kAcross). The chain cannot vectorize along such rows; separate kernels can. Times are
// for one core.
bool IsFasterSeparate(const graph::RowChain& chain, const plan::RowPlan& plan,
                      const HardwareSettings& settings) {
  if (chain.layout != graph::Layout::kAcross) return false;
  const plan::Machine machine(settings);
  const auto more = static_cast<int64_t>(chain.kernels.size() - 1);
  double separate_us =
      static_cast<double>(settings.compute_units * more) * (machine.launch_us + machine.compile_us);
  for (const poly::RowKernel& kernel : chain.kernels) {
    const std::vector<bool> is_constant(kernel.flat.tensors.size(), false);
    separate_us += plan::PlanKernel(kernel.flat, settings, is_constant).predicted_us;
  }
  return separate_us < plan.predicted_us;
}

}  // namespace

graph::ChainOptions ChainLimits(const HardwareSettings& settings, bool holds_results) {
  graph::ChainOptions limits;
  limits.cores = settings.compute_units;
  limits.planes = !IsGpu(settings);
  if (!IsGpu(settings)) return limits;
  // A chain on a quarter of the compute units is about as fast as three launches.
  limits.cores = std::max<int64_t>(settings.compute_units / 4, 1);
  limits.row_bytes = kGpuRowBytes;
  limits.row_points = kGpuRowPoints;
  limits.single_results = true;
  // Results held in registers need no local memory.
  limits.local_bytes =
      holds_results ? 4 * settings.local_memory_bytes : settings.local_memory_bytes / 2;
  return limits;
}

std::optional<RowChainPlan> PlanChain(const graph::RowChain& chain,
                                      const HardwareSettings& settings) {
  if (!IsGpu(settings)) {
    plan::RowPlan planned =
        plan::PlanRows(chain.rows, chain.kernels, chain.tensors, chain.row_bytes, settings);
    if (IsFasterSeparate(chain, planned, settings)) return std::nullopt;
    return planned;
  }
  auto planned = plan::PlanRowGroups(chain.rows, chain.kernels, chain.tensors, settings);
  if (!planned.has_value()) return std::nullopt;
  return *std::move(planned);
}

bool HoldsInRegisters(const graph::RowChain& chain, const RowChainPlan& plan) {
  const auto* groups = std::get_if<plan::RowGroupPlan>(&plan);
  if (groups == nullptr) return true;
  const bool has_matmuls =
      std::any_of(groups->stages.begin(), groups->stages.end(),
                  [](const plan::RowGroupStage& stage) { return stage.product.has_value(); });
  if (has_matmuls) return true;
  for (size_t s = 0; s < groups->stages.size(); ++s) {
    if (chain.kernels[s].output >= 0 && groups->stages[s].stores) return false;
  }
  return true;
}

}  // namespace tartan::compiler
