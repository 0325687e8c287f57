// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/select/select_plan.h"

#include <algorithm>
#include <future>
#include <optional>
#include <utility>

#include "tile/plan/cpu/column_plan.h"
#include "tile/plan/cpu/cpu_candidates.h"
#include "tile/plan/cpu/cpu_transpose.h"
#include "tile/plan/cpu/gather_plan.h"
#include "tile/plan/cpu/stream_plan.h"
#include "tile/plan/cpu/window_plan.h"
#include "tile/plan/gpu/factors.h"
#include "tile/plan/gpu/few_rows_search.h"
#include "tile/plan/gpu/gpu_candidates.h"
#include "tile/plan/matrix/matrix_search.h"
#include "tile/plan/matrix/split_k.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::plan {
namespace {

// Inserts a plan by its predicted time and drops the last one.
void Insert(std::optional<PlannedKernel> plan, std::vector<PlannedKernel>* plans) {
  if (!plan.has_value()) return;
  const auto place = std::find_if(plans->begin(), plans->end(), [&](const PlannedKernel& other) {
    return plan->predicted_us < other.predicted_us || other.predicted_us == 0;
  });
  const size_t count = plans->size();
  plans->insert(place, *std::move(plan));
  plans->resize(count);
}

// Returns whether a tensor-core plan is wasted: its tiles of 64 rows are nearly empty, and tf32
// saves no bytes. GEMMs of few rows are limited by their weights, which streamed-weight plans
// request earlier (H200: GPT-2 decode 0.51 ms in tf32, LSTM 0.68; both 0.44 without tensor cores).
bool WastesTensorCores(const PlannedKernel& planned) {
  constexpr int64_t kFewRows = 8;  // rows or columns below which tensor cores do not pay; measured
  const auto& matrix = std::get<MatrixPlan>(planned.plan);
  return matrix.format == MatrixFormat::kTf32 &&
         std::min(CountOf(planned.flat, matrix.rows), CountOf(planned.flat, matrix.columns)) <
             kFewRows;
}

// Returns the best tensor-core plan.
std::optional<PlannedKernel> TensorCoreCandidate(const poly::FlatContraction& merged,
                                                 const HardwareSettings& settings,
                                                 const LaunchContext& launch, MatrixFormat format) {
  std::optional<PlannedKernel> plan = MatrixCandidate(merged, settings, format, launch.is_constant);
  if (!plan.has_value() || WastesTensorCores(*plan)) return std::nullopt;
  auto split = SplitKCandidate(merged, settings, format, launch.is_constant);
  return split.has_value() && split->predicted_us < plan->predicted_us ? split : plan;
}

// The searches with and without tensor cores run at once, because they take equally long.
std::vector<PlannedKernel> CandidatesOfGpu(const poly::FlatContraction& merged,
                                           const HardwareSettings& settings,
                                           const LaunchContext& launch, int count,
                                           Precision precision) {
  std::future<std::optional<PlannedKernel>> matrix;
  if (const std::optional<MatrixFormat> format = FormatFor(merged, precision)) {
    matrix = std::async(
        [&, format = *format] { return TensorCoreCandidate(merged, settings, launch, format); });
  }
  std::vector<PlannedKernel> plans = GpuCandidates(merged, settings, count);
  Insert(RowStreamCandidate(merged, settings, launch.is_constant), &plans);
  if (matrix.valid()) Insert(matrix.get(), &plans);
  return plans;
}

}  // namespace

PlannedKernel PlanKernel(const poly::FlatContraction& flat, const HardwareSettings& settings,
                         const LaunchContext& launch, Precision precision) {
  return PlanCandidates(flat, settings, launch, 1, precision).front();
}

std::vector<PlannedKernel> PlanCandidates(const poly::FlatContraction& flat,
                                          const HardwareSettings& settings,
                                          const LaunchContext& launch, int count,
                                          Precision precision) {
  const poly::FlatContraction merged = poly::MergeIndices(flat);
  if (settings.threads > 1) return CandidatesOfGpu(merged, settings, launch, count, precision);
  std::vector<PlannedKernel> plans;
  for (const auto& propose : {TransposePlan, ColumnPlan, GatherPlan, WindowPlan}) {
    if (std::optional<PlannedKernel> plan = propose(merged, settings)) {
      plans.push_back(*std::move(plan));
    }
  }
  if (std::optional<PlannedKernel> plan = StreamPlan(merged, settings, launch)) {
    plans.push_back(*std::move(plan));
  }
  for (PlannedKernel& plan : CpuCandidates(merged, settings, launch, count)) {
    plans.push_back(std::move(plan));
  }
  std::stable_sort(plans.begin(), plans.end(), [](const PlannedKernel& a, const PlannedKernel& b) {
    return a.predicted_us < b.predicted_us;
  });
  if (static_cast<int>(plans.size()) > count) plans.resize(count);
  return plans;
}

}  // namespace tartan::plan
