// SPDX-License-Identifier: Apache-2.0
#include "tile/fuse/attention_fusion.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tile/plan/machine.h"
#include "tile/plan/rows/plan_matrix_rows.h"
#include "tile/plan/rows/plan_online_rows.h"
#include "tile/plan/rows/plan_row_gemms.h"
#include "tile/plan/rows/plan_row_groups.h"
#include "tile/plan/rows/row_cycles.h"
#include "tile/poly/form_key.h"

namespace tartan::fuse {
namespace {

// Returns a text that is equal for chains that differ only in names, comments and values.
std::string FormOf(const graph::RowChain& chain) {
  std::string form = absl::StrJoin(chain.rows, ",");
  // Online softmax also depends on which kernels read the same values.
  const bool is_online = poly::FindOnlineSoftmax(chain.kernels, chain.tensors).has_value();
  absl::StrAppend(&form, chain.has_long_rows ? "|long" : "", is_online ? "|online" : "");
  for (const poly::RowTensor& tensor : chain.tensors) {
    absl::StrAppend(&form, "|", absl::StrJoin(tensor.dims, ","), ";",
                    absl::StrJoin(tensor.axes, ","));
  }
  for (const poly::RowKernel& kernel : chain.kernels) {
    absl::StrAppend(&form, "|", absl::StrJoin(kernel.axes, ","), ";",
                    absl::StrJoin(kernel.tensors, ","), ";", kernel.output, ";",
                    poly::FormKey(kernel.flat));
  }
  return form;
}

// Adapts the plan of a chain to another chain of the same form.
plan::RowGroupPlan AdaptPlan(plan::RowGroupPlan plan, const graph::RowChain& chain) {
  if (plan.walk.has_value()) {
    plan::CutOnlineRows(chain.kernels, chain.tensors, &plan);
    return plan;
  }
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    plan.stages[s].block =
        poly::CutRows(chain.kernels[s], plan.block, chain.tensors, /*keep_rows=*/true);
  }
  return plan;
}

// Microseconds to move all tensors that a chain reads from or writes to memory, each once.
double MemoryUs(const graph::RowChain& chain, const plan::Machine& machine) {
  std::map<ir::ValueId, int64_t> bytes;
  for (const poly::RowKernel& kernel : chain.kernels) {
    for (size_t t = 0; t < kernel.flat.tensors.size(); ++t) {
      const poly::Tensor& tensor = kernel.flat.tensors[t];
      if (kernel.tensors[t] < 0) bytes[tensor.value] = tensor.shape.byte_size();
    }
    if (kernel.output >= 0) continue;
    for (const poly::Output& output : kernel.flat.outputs) {
      bytes[output.value] = output.shape.byte_size();
    }
  }
  double all = 0;
  for (const auto& [value, size] : bytes) all += static_cast<double>(size);
  return all / machine.memory_bytes_per_us;
}

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

constexpr char kByTime[] = "predicted times";

bool IsIn(const std::vector<int>& groups, int group) {
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

}  // namespace

graph::FusionDecision AttentionFusion::Decide(const graph::RowChain& chain,
                                              const graph::RowChain* without) {
  graph::FusionDecision decision = {.rule = graph::FusionRule::kAttention};
  for (size_t k = 0; k < chain.kernels.size(); ++k) {
    if (without != nullptr && IsIn(without->groups, chain.groups[k])) continue;
    decision.separate_us += KernelUs(chain.kernels[k].flat);
  }
  if (without != nullptr) {
    // Replacing another chain's groups would lose that chain's saving, which is not counted here.
    for (int group : without->groups) {
      if (IsIn(chain.groups, group)) continue;
      decision.reason = "the row fusion of other kernels would be lost";
      return decision;
    }
    decision.separate_us += RowsUs(*without);
  }
  const std::optional<plan::RowGroupPlan> plan = Plan(chain);
  if (!plan.has_value()) {
    decision.reason = "no work-group can compute the stages within its registers and local memory";
    return decision;
  }
  decision.fused_us = plan->predicted_us;
  const bool saves_memory =
      plan->walk.has_value() && LargestIntermediateBytes(chain) > max_intermediate_bytes_;
  decision.is_accepted = saves_memory || decision.fused_us < decision.separate_us;
  decision.reason = saves_memory ? "an intermediate tensor would be too large" : kByTime;
  return decision;
}

std::optional<plan::RowGroupPlan> AttentionFusion::Plan(const graph::RowChain& chain) {
  const auto [place, is_new] = chains_.try_emplace(FormOf(chain));
  if (is_new) place->second = NewPlan(chain);
  if (!place->second.has_value()) return std::nullopt;
  return AdaptPlan(*place->second, chain);
}

std::optional<plan::RowGroupPlan> AttentionFusion::NewPlan(const graph::RowChain& chain) const {
  std::optional<plan::RowGroupPlan> whole;
  if (!chain.has_long_rows) {
    whole = plan::PlanRowGemms(chain.rows, chain.kernels, chain.tensors, judge_.settings());
  }
  const auto keep_faster = [&](std::optional<plan::RowGroupPlan> other) {
    if (other && (!whole || other->predicted_us < whole->predicted_us)) whole = std::move(other);
  };
  const std::optional<MatrixFormat> format = FormatOf(judge_.precision());
  if (format.has_value() && !chain.has_long_rows) {
    keep_faster(plan::PlanTensorCoreRows(chain.rows, chain.kernels, chain.tensors,
                                         judge_.settings(), *format));
  }
  keep_faster(plan::PlanOnlineRows(chain.rows, chain.kernels, chain.tensors, judge_.settings()));
  return whole;
}

double AttentionFusion::KernelUs(const poly::FlatContraction& flat) {
  return judge_.LaunchUs(flat, ConstantTensors(flat, is_constant_));
}

double AttentionFusion::RowsUs(const graph::RowChain& chain) {
  if (chain.has_matmuls) return Plan(chain)->predicted_us;
  const auto plan =
      plan::PlanRowGroups(chain.rows, chain.kernels, chain.tensors, judge_.settings());
  if (plan.has_value()) {
    const plan::Machine machine(judge_.settings());
    const double us = plan::RowStagesUs(*plan, chain.kernels, judge_.settings());
    return machine.megakernel_launch_us + std::max(us, MemoryUs(chain, machine));
  }
  double us = 0;
  for (const poly::RowKernel& kernel : chain.kernels) us += KernelUs(kernel.flat);
  return us;
}

}  // namespace tartan::fuse
