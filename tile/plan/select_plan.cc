// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/select_plan.h"

#include <optional>
#include <utility>

#include "tile/plan/cpu/column_plan.h"
#include "tile/plan/cpu/cpu_candidates.h"
#include "tile/plan/cpu/gather_plan.h"
#include "tile/plan/cpu/window_plan.h"
#include "tile/plan/gpu/gpu_plans.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::plan {
namespace {

// Points written out are quicker than the model thinks: counts in windows of 26 MB take four fifths
// of the time of a plan that it puts before them by a tenth.
constexpr double kWindowFactor = 1.2;

}  // namespace

PlannedKernel PlanKernel(const poly::FlatContraction& flat, const HardwareSettings& settings,
                         const std::vector<bool>& is_constant) {
  return PlanCandidates(flat, settings, is_constant, 1).front();
}

std::vector<PlannedKernel> PlanCandidates(const poly::FlatContraction& flat,
                                          const HardwareSettings& settings,
                                          const std::vector<bool>& is_constant, int count) {
  const poly::FlatContraction merged = poly::MergeIndices(flat);
  if (settings.threads > 1) return GpuPlans(merged, settings, count);
  std::vector<PlannedKernel> plans = CpuCandidates(merged, settings, is_constant, count);
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
