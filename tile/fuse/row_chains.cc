// SPDX-License-Identifier: Apache-2.0
#include "tile/fuse/row_chains.h"

#include <algorithm>
#include <vector>

#include "tile/plan/machine.h"
#include "tile/plan/rows/plan_row_groups.h"
#include "tile/plan/rows/plan_rows.h"

namespace tartan::fuse {
namespace {

// Points per row; one work-group computes them in less than a launch's time.
constexpr int64_t kGpuRowPoints = 1 << 13;
// Bytes per row; the L2 cache holds one row per compute unit.
constexpr int64_t kGpuRowBytes = 1 << 19;

bool IsGpu(const HardwareSettings& settings) { return settings.threads > 1; }

// Predicted microseconds of one core for separate kernels.
double SeparateUs(const graph::RowChain& chain, const std::vector<bool>& is_constant,
                  Judge* judge) {
  const HardwareSettings& settings = judge->settings();
  const plan::Machine machine(settings);
  const auto more = static_cast<int64_t>(chain.kernels.size() - 1);
  double us =
      static_cast<double>(settings.compute_units * more) * (machine.launch_us + machine.compile_us);
  for (const poly::RowKernel& kernel : chain.kernels) {
    us += judge->KernelUs(kernel.flat, ConstantTensors(kernel.flat, is_constant));
  }
  return us;
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
                                      const std::vector<bool>& is_constant, Judge* judge,
                                      graph::FusionDecision* decision) {
  const HardwareSettings& settings = judge->settings();
  decision->is_accepted = true;
  if (!IsGpu(settings)) {
    plan::RowPlan planned =
        plan::PlanRows(chain.rows, chain.kernels, chain.tensors, chain.row_bytes, settings);
    // The chain cannot vectorize along rows whose elements are interleaved in memory; separate
    // kernels can.
    if (chain.layout == graph::Layout::kAcross) {
      decision->separate_us = SeparateUs(chain, is_constant, judge);
      decision->fused_us = planned.predicted_us;
      decision->is_accepted = decision->separate_us >= decision->fused_us;
      decision->reason = "rows are interleaved in memory";
    }
    return decision->is_accepted ? std::optional<RowChainPlan>(planned) : std::nullopt;
  }
  auto planned = plan::PlanRowGroups(chain.rows, chain.kernels, chain.tensors, settings);
  if (planned.has_value()) return *std::move(planned);
  decision->is_accepted = false;
  decision->reason = "no work-group can compute the rows within its registers and local memory";
  return std::nullopt;
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

}  // namespace tartan::fuse
