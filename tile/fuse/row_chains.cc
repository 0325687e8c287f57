// SPDX-License-Identifier: Apache-2.0
#include "tile/fuse/row_chains.h"

#include <algorithm>
#include <string>
#include <utility>

namespace tartan::fuse {
namespace {

// Points per row; one work-group computes them in less than a launch's time.
constexpr int64_t kGpuRowPoints = 1 << 13;
// Bytes per row; the L2 cache holds one row per compute unit.
constexpr int64_t kGpuRowBytes = 1 << 19;

bool IsGpu(const HardwareSettings& settings) { return settings.threads > 1; }

// Bytes of the largest intermediate tensor between kernels of the chain.
int64_t LargestIntermediateBytes(const graph::RowChain& chain) {
  int64_t bytes = 0;
  for (const poly::RowKernel& kernel : chain.kernels) {
    if (kernel.output >= 0) {
      bytes = std::max(bytes, kernel.flat.outputs.front().shape.byte_size());
    }
  }
  return bytes;
}

bool IsIn(const std::vector<int>& groups, int group) {
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

// Returns whether the kernel reads a value that the group stores.
bool ReadsResult(const poly::RowKernel& reader, const ir::Grouping& grouping,
                 const ir::KernelGroup& producer) {
  return std::any_of(
      reader.flat.tensors.begin(), reader.flat.tensors.end(), [&](const poly::Tensor& tensor) {
        return std::any_of(
            producer.outputs.begin(), producer.outputs.end(),
            [&](ir::ValueId output) { return grouping.storage[output] == tensor.value; });
      });
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
  decision->is_accepted = true;
  if (!IsGpu(judge->settings())) {
    plan::RowPlan planned = judge->PlanRows(chain);
    // The chain cannot vectorize along rows whose elements are interleaved in memory; separate
    // kernels can.
    if (chain.layout == graph::Layout::kAcross) {
      decision->separate_us = judge->SeparateCoreUs(chain, is_constant);
      decision->fused_us = planned.predicted_us;
      decision->is_accepted = decision->separate_us >= decision->fused_us;
      decision->reason = "rows are interleaved in memory";
    }
    return decision->is_accepted ? std::optional<RowChainPlan>(planned) : std::nullopt;
  }
  std::optional<plan::RowGroupPlan> planned = judge->PlanRowGroups(chain);
  decision->is_accepted = planned.has_value();
  if (!planned.has_value()) {
    decision->reason = "no work-group can compute the rows within its registers and local memory";
  } else if (chain.layout == graph::Layout::kAcross) {
    // Separate kernels divide the rows, too, and read whole lines.
    decision->separate_us = judge->SeparateUs(chain, is_constant);
    decision->fused_us = judge->RowGroupsUs(chain, is_constant);
    decision->is_accepted = decision->separate_us >= decision->fused_us;
    decision->reason = "rows are interleaved in memory";
  }
  return decision->is_accepted ? std::optional<RowChainPlan>(*std::move(planned)) : std::nullopt;
}

void PlanSeparateKernels(absl::Span<const graph::RowChain> chains,
                         const std::vector<bool>& is_constant, Judge* judge) {
  std::vector<LaunchRequest> requests;
  for (const graph::RowChain& chain : chains) {
    if (chain.layout != graph::Layout::kAcross) continue;
    for (const poly::RowKernel& kernel : chain.kernels) {
      requests.push_back({&kernel.flat, {ConstantTensors(kernel.flat, is_constant)}});
    }
  }
  judge->PlanAhead(requests, /*are_launches=*/false);
}

graph::FusionDecision DecideAttention(const graph::RowChain& chain, const graph::RowChain* without,
                                      const std::vector<bool>& is_constant,
                                      int64_t max_intermediate_bytes, Judge* judge) {
  graph::FusionDecision decision = {.rule = graph::FusionRule::kAttention};
  for (size_t k = 0; k < chain.kernels.size(); ++k) {
    if (without != nullptr && IsIn(without->groups, chain.groups[k])) continue;
    const poly::FlatContraction& flat = chain.kernels[k].flat;
    decision.separate_us += judge->LaunchUs(flat, ConstantTensors(flat, is_constant));
  }
  if (without != nullptr) {
    // Replacing another chain's groups would lose that chain's saving, which is not counted here.
    for (int group : without->groups) {
      if (IsIn(chain.groups, group)) continue;
      decision.reason = "the row fusion of other kernels would be lost";
      return decision;
    }
    decision.separate_us += judge->RowGroupsUs(*without, is_constant);
  }
  const std::optional<plan::RowGroupPlan> plan = judge->PlanRowGroups(chain);
  if (!plan.has_value()) {
    decision.reason = "no work-group can compute the stages within its registers and local memory";
    return decision;
  }
  decision.fused_us = plan->predicted_us;
  const bool saves_memory =
      plan->walk.has_value() && LargestIntermediateBytes(chain) > max_intermediate_bytes;
  decision.is_accepted = saves_memory || decision.fused_us < decision.separate_us;
  decision.reason = saves_memory ? "an intermediate tensor would be too large" : "predicted times";
  return decision;
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

void LogChain(const ir::Program& program, const ir::Grouping& grouping,
              const graph::RowChain& chain, graph::FusionDecision decision, graph::FusionLog* log) {
  const auto name = [&](const ir::KernelGroup& group) {
    return program.values[grouping.storage[group.outputs.front()]].name;
  };
  for (size_t reader = 1; reader < chain.kernels.size(); ++reader) {
    for (size_t producer = 0; producer < reader; ++producer) {
      const ir::KernelGroup& from = grouping.groups[chain.groups[producer]];
      if (!ReadsResult(chain.kernels[reader], grouping, from)) continue;
      decision.producer = name(from);
      decision.consumer = name(grouping.groups[chain.groups[reader]]);
      decision.kernel = decision.consumer;
      log->Add(decision);
    }
  }
}

}  // namespace tartan::fuse
