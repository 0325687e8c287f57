#include "tile/plan/kernel_plan.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tile/plan/cpu/column_plan.h"
#include "tile/plan/cpu/cpu_plan.h"
#include "tile/plan/cpu/gather_plan.h"
#include "tile/plan/cpu/window_plan.h"
#include "tile/plan/gpu/gpu_plans.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::plan {
namespace {

// Points written out are quicker than the model thinks: counts in windows of 26 MB take four fifths
// of the time of a plan that it puts before them by a tenth.
constexpr double kWindowFactor = 1.2;

std::string BlockText(const poly::FlatContraction& flat, const KernelPlan& plan) {
  const BlockPlan& block = *plan.block;
  std::vector<std::string> inside;
  for (size_t level = block.level; level < plan.order.size(); ++level) {
    inside.push_back(flat.indices[plan.order[level]].name);
  }
  std::string text = absl::StrCat(", block [", absl::StrJoin(inside, ", "), "]");
  if (block.run_index >= 0) {
    absl::StrAppend(&text, " in runs of ", block.run, " ", flat.indices[block.run_index].name);
  }
  for (int access : block.staged) {
    absl::StrAppend(&text, " with in", flat.accesses[access].tensor, " staged");
  }
  return text;
}

}  // namespace

int64_t KernelPlan::TaskCount(const poly::FlatContraction& flat, int i) const {
  return (flat.indices[i].range + task[i] - 1) / task[i];
}

int64_t KernelPlan::ItemCount(const poly::FlatContraction& flat) const {
  int64_t items = 1;
  for (int i = 0; i < flat.output_index_count; ++i) items *= TaskCount(flat, i);
  return items;
}

std::string KernelPlan::ToString(const poly::FlatContraction& flat) const {
  if (group) return group->ToString(flat);
  std::vector<std::string> tasks;
  for (int i : order) {
    tasks.push_back(absl::StrCat(flat.indices[i].name, ": ", task[i], "/", flat.indices[i].range));
  }
  std::vector<std::string> tile;
  for (size_t i = 0; i < flat.indices.size(); ++i) {
    if (unroll[i] > 1) tile.push_back(absl::StrCat(unroll[i], " ", flat.indices[i].name));
  }
  std::string text = absl::StrCat("task [", absl::StrJoin(tasks, ", "), "]");
  if (!tile.empty()) absl::StrAppend(&text, ", registers ", absl::StrJoin(tile, " x "));
  if (lanes > 1) {
    absl::StrAppend(&text, ", vectors of ", lanes, " along ", flat.indices[vector_index].name);
  }
  if (masks_lanes) absl::StrAppend(&text, ", lanes masked");
  if (block) absl::StrAppend(&text, BlockText(flat, *this));
  absl::StrAppend(&text, ", ", ItemCount(flat), " work-items in groups of ", threads);
  return text;
}

KernelPlan ScalarPlan(const poly::FlatContraction& flat, int64_t threads) {
  KernelPlan plan;
  plan.task.assign(flat.output_index_count, 1);
  plan.unroll.assign(flat.indices.size(), 1);
  for (int i = 0; i < static_cast<int>(flat.indices.size()); ++i) {
    (i < flat.output_index_count ? plan.order : plan.reduction_order).push_back(i);
  }
  plan.threads = threads;
  return plan;
}

PlannedKernel PlanKernel(const poly::FlatContraction& flat, const HardwareSettings& settings,
                         const std::vector<bool>& is_constant) {
  return PlanCandidates(flat, settings, is_constant, 1).front();
}

std::vector<PlannedKernel> PlanCandidates(const poly::FlatContraction& flat,
                                          const HardwareSettings& settings,
                                          const std::vector<bool>& is_constant, int count) {
  const poly::FlatContraction merged = poly::MergeIndices(flat);
  if (settings.threads > 1) return GpuPlans(merged, settings, count);
  std::vector<PlannedKernel> plans = CpuPlans(merged, settings, is_constant, count);
  const auto prefer = [&](PlannedKernel planned) {
    plans.insert(plans.begin(), std::move(planned));
  };
  const double predicted = plans.front().predicted;
  if (std::optional<KernelPlan> columns = ColumnPlan(merged, settings)) {
    prefer({merged, *std::move(columns), {}, predicted, "rows along all columns"});
  } else if (std::optional<KernelPlan> gather = GatherPlan(merged, settings)) {
    prefer({merged, *std::move(gather), {}, predicted, "rows share positions"});
  } else if (std::optional<PlannedKernel> window = WindowPlan(merged, settings)) {
    if (window->predicted < kWindowFactor * predicted) prefer(*std::move(window));
  }
  if (static_cast<int>(plans.size()) > count) plans.resize(count);
  return plans;
}

}  // namespace tartan::plan
