// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/rows/plan_rows.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "tile/plan/cpu/cpu_candidates.h"
#include "tile/plan/cpu/cpu_transpose.h"
#include "tile/plan/cpu/window_plan.h"
#include "tile/plan/machine.h"
#include "tile/plan/rows/row_loops.h"
#include "tile/poly/unroll.h"

namespace tartan::plan {
namespace {

// Rows per block to try.
constexpr int64_t kBlocks[] = {1, 4, 16, 64};
// Work-items per core, twice the usual number, because they are short; empirical.
constexpr int64_t kItemsPerCore = 2 * cpu::kTasksPerCore;
// Share of a stage's cost that remains in another stage's loop; empirical.
constexpr double kJoinedFactor = 0.3;

// A block of about `count` rows, adjacent in the last axes.
std::vector<int64_t> BlockOf(const std::vector<int64_t>& rows, int64_t count) {
  std::vector<int64_t> block(rows.size(), 1);
  for (size_t a = rows.size(); a-- > 0;) {
    block[a] = std::min(rows[a], count);
    if (block[a] < rows[a]) break;
    count /= block[a];
  }
  return block;
}

// Returns whether vectors along a reduced index leave a tail of single elements.
bool HasTail(const poly::FlatContraction& flat, const CpuPlan& plan) {
  return plan.vector_index >= flat.output_index_count &&
         flat.indices[plan.vector_index].range % plan.unroll[plan.vector_index] != 0;
}

struct PlannedStage {
  CpuPlan plan;
  bool is_unrolled = false;
  double predicted_us = 0;  // as in PlannedKernel
};

// Returns whether some coordinate is a sum of indices, as with sliding windows.
bool Slides(const poly::FlatContraction& flat) {
  return std::any_of(flat.accesses.begin(), flat.accesses.end(), [](const auto& access) {
    return std::any_of(access.coords.begin(), access.coords.end(), [](const math::Affine& coord) {
      return !coord.is_constant() && coord.single_variable() < 0;
    });
  });
}

// The best plan of one work-item without packing. A tail counts extra, because the cost model
// barely shows its cost.
PlannedStage PlanStage(const poly::RowBlock& block, bool may_unroll,
                       const HardwareSettings& settings) {
  poly::FlatContraction flat = block.flat;
  for (int origin : block.origins) {
    if (origin >= 0) flat.indices[origin].range = 1;
  }
  HardwareSettings alone = settings;
  alone.compute_units = 0;
  constexpr int kCandidates = 16;    // plans per stage to compare
  constexpr double kTailCost = 1.3;  // factor on the cost of a plan with a tail; empirical
  PlannedStage best = {ScalarPlan(flat, 1), false, 0};
  double least = std::numeric_limits<double>::infinity();
  const std::vector<bool> is_constant(flat.tensors.size(), false);
  std::vector<PlannedKernel> candidates = CpuCandidates(flat, alone, {is_constant}, kCandidates);
  if (auto transpose = TransposePlan(flat, alone)) candidates.push_back(*std::move(transpose));
  if (may_unroll) {
    if (auto window = WindowPlan(flat, alone)) candidates.push_back(*std::move(window));
  }
  for (const PlannedKernel& planned : candidates) {
    const CpuPlan& plan = std::get<CpuPlan>(planned.plan);
    const double cost = planned.predicted_us * (HasTail(flat, plan) ? kTailCost : 1);
    // Blocks with private memory are supported in whole kernels only.
    if (!planned.packed.empty() || plan.block || cost >= least) continue;
    least = cost;
    best = {plan, planned.is_unrolled, planned.predicted_us};
  }
  for (int i = 0; i < flat.output_index_count; ++i) best.plan.task[i] = flat.indices[i].range;
  return best;
}

RowPlan PlanBlocks(const std::vector<int64_t>& rows, std::vector<int64_t> block,
                   const std::vector<poly::RowKernel>& kernels,
                   const std::vector<poly::RowTensor>& tensors, int64_t row_bytes,
                   const HardwareSettings& settings) {
  RowPlan plan;
  plan.rows = rows;
  plan.block = std::move(block);
  int64_t count = 1;
  for (int64_t size : plan.block) count *= size;
  std::vector<double> costs;
  for (const poly::RowKernel& kernel : kernels) {
    poly::RowBlock cut = poly::CutRows(kernel, plan.block, tensors);
    PlannedStage planned = PlanStage(cut, Slides(kernel.flat), settings);
    costs.push_back(planned.predicted_us);
    if (planned.is_unrolled) cut.flat = poly::Unroll(cut.flat);
    plan.stages.push_back({std::move(cut), std::move(planned.plan)});
  }
  if (count == 1) {
    plan.loops = FuseStages(&plan.stages);
  } else {
    for (int s = 0; s < static_cast<int>(kernels.size()); ++s) {
      plan.loops.push_back({{s}, 0, 0, {}});
    }
  }
  const double bytes = static_cast<double>(row_bytes * count);
  const Machine machine(settings);
  double microseconds = 0;
  double most = 0;
  RowLoop* longest = nullptr;
  for (RowLoop& loop : plan.loops) {
    double cost = 0;
    for (int s : loop.stages) cost += costs[s] * (s == loop.stages[0] ? 1 : kJoinedFactor);
    if (bytes > 0.8 * static_cast<double>(settings.l1_bytes)) {
      cost += machine.Microseconds(2 * bytes / cpu::kL2BytesPerCycle);  // written and read again
    }
    microseconds += cost;
    if (loop.length == 0 || cost < most) continue;
    most = cost;
    longest = &loop;
  }
  plan.predicted_us = microseconds * static_cast<double>(plan.BlockCount());
  // While computation dominates, memory has time to prefetch the next row.
  const bool is_in_memory = row_bytes * plan.BlockCount() > settings.l2_bytes;
  const bool has_planes = std::any_of(kernels.begin(), kernels.end(), [](const auto& kernel) {
    return kernel.flat.is_reduction() && Slides(kernel.flat);
  });
  if (longest == nullptr && has_planes && is_in_memory) {
    const PlanesToPrefetch ahead = FindPlanesToPrefetch(plan.stages, kernels);
    for (RowLoop& loop : plan.loops) {
      if (loop.stages[0] == ahead.stage) loop.ahead = ahead.reads;
    }
  }
  if (longest != nullptr && is_in_memory) {
    longest->ahead = RowsToPrefetch(plan.loops, longest->length, plan.stages, kernels);
  }
  return plan;
}

}  // namespace

RowPlan PlanRows(const std::vector<int64_t>& rows, const std::vector<poly::RowKernel>& kernels,
                 const std::vector<poly::RowTensor>& tensors, int64_t row_bytes,
                 const HardwareSettings& settings) {
  int64_t all = 1;
  for (int64_t range : rows) all *= range;
  RowPlan best;
  for (int64_t count : kBlocks) {
    const bool is_first = best.stages.empty();
    if (!is_first && (count * kItemsPerCore * settings.compute_units > all ||
                      2 * count * row_bytes > settings.l2_bytes)) {
      break;
    }
    RowPlan plan = PlanBlocks(rows, BlockOf(rows, count), kernels, tensors, row_bytes, settings);
    if (is_first || plan.predicted_us < best.predicted_us) best = std::move(plan);
  }
  const int64_t blocks = best.BlockCount();
  const double block_us = best.predicted_us / static_cast<double>(blocks);
  const double item_us = Machine(settings).Microseconds(cpu::kTaskCycles);
  const auto wanted = static_cast<int64_t>(item_us / std::max(block_us, 1e-3));
  best.item_blocks = std::clamp<int64_t>(
      wanted, 1, std::max<int64_t>(blocks / (kItemsPerCore * settings.compute_units), 1));
  return best;
}

}  // namespace tartan::plan
