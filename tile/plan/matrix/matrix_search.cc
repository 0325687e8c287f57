// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/matrix/matrix_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tile/base/launch_batch_limits.h"
#include "tile/plan/machine.h"
#include "tile/plan/matrix/matrix_cost.h"
#include "tile/plan/matrix/matrix_operands.h"
#include "tile/plan/matrix_plan.h"

namespace tartan::plan {
namespace {

constexpr int64_t kRowTiles[] = {64, 128, 256};  // rows per tile to try
constexpr int64_t kSlices[] = {1, 2, 4};         // K slices per step to try
constexpr int64_t kMaxWarpGroups = 4;            // maximum warp groups per work-group
// Column tiles, multiples of 8 as the hardware requires. The small steps let the number of
// work-groups match the number of compute units.
constexpr int64_t kColumnTiles[] = {8,  16, 24, 32,  40,  48,  56,  64,
                                    72, 80, 96, 112, 128, 160, 192, 256};
constexpr int64_t kMaxTotals = 128;  // maximum accumulators per work-item
// Pipeline stages of asynchronous copies if several work-groups share a compute unit.
constexpr int64_t kStagesOfCopies = 4;
// Maximum pipeline stages if a work-group has the compute unit to itself.
constexpr int64_t kMaxStages = 8;
// Additional launch of a packing kernel, without the bytes it moves; empirical.
constexpr double kPackingUs = 5;

// Costs the plan's tiles with few and with many stages, if local memory suffices.
void TryTiles(const poly::FlatContraction& flat, MatrixPlan plan, const HardwareSettings& settings,
              std::optional<MatrixPlan>* best) {
  plan.warp_groups = plan.row_tile == MatrixPlan::kUnitRows ? 1 : 2;
  if (plan.warp_groups * plan.slices > kMaxWarpGroups) return;
  if (plan.accumulators() > kMaxTotals) return;
  if (plan.second && plan.column_tile % 16 != 0) return;
  if (plan.right.along_rows && plan.result_columns() % plan.right_tile().line() != 0) return;
  const auto try_stages = [&] {
    if (plan.local_bytes() > settings.matrix_local_bytes) return;
    plan.cost = EstimateMatrixCost(flat, plan, settings);
    if (!best->has_value() || plan.cost.microseconds < (*best)->cost.microseconds) *best = plan;
  };
  plan.stages = plan.copies_all() ? kStagesOfCopies : 2;
  while (plan.copies_all() && plan.stages > 3 && ResidentGroups(plan, settings) < 2) --plan.stages;
  const int64_t few = plan.stages;
  if (plan.copies_all() && settings.batches_launches) {
    // Work-groups of a megakernel have a compute unit each.
    const int64_t room = std::min(settings.matrix_local_bytes, kMaxBatchFillingBytes);
    plan.stages = std::min(kMaxStages, plan.StepCount(flat) + 1);
    while (plan.stages > few && plan.local_bytes() > room) --plan.stages;
    if (plan.stages > few) try_stages();
  }
  plan.stages = few;
  try_stages();
}

// Adds the best tiles and the cost of packing.
std::optional<PlannedKernel> WithTiles(MatrixOperands operands, const HardwareSettings& settings) {
  PlannedKernel planned = std::move(operands.planned);
  std::optional<MatrixPlan> best = ChooseMatrixTiles(planned.flat, operands.plan, settings);
  if (!best.has_value()) return std::nullopt;
  planned.packing_us = operands.packings * kPackingUs + static_cast<double>(operands.packed_bytes) /
                                                            Machine(settings).memory_bytes_per_us;
  planned.predicted_us = planned.packing_us + best->cost.microseconds;
  planned.cost = best->cost.ToString();
  if (planned.packing_us > 0) {
    absl::StrAppendFormat(&planned.cost, ", %.1f us to pack", planned.packing_us);
  }
  planned.plan = *std::move(best);
  return planned;
}

}  // namespace

std::optional<MatrixPlan> ChooseMatrixTiles(const poly::FlatContraction& flat, MatrixPlan plan,
                                            const HardwareSettings& settings) {
  std::optional<MatrixPlan> best;
  for (int64_t rows : kRowTiles) {
    for (int64_t columns : kColumnTiles) {
      for (int64_t slices : kSlices) {
        plan.row_tile = rows;
        plan.column_tile = columns;
        plan.slices = slices;
        TryTiles(flat, plan, settings, &best);
      }
    }
  }
  return best;
}

std::vector<PlannedKernel> MatrixCandidates(const poly::FlatContraction& flat,
                                            const HardwareSettings& settings, MatrixFormat format,
                                            const std::vector<bool>& is_constant) {
  std::vector<PlannedKernel> plans;
  if (settings.matrix_local_bytes == 0) return plans;
  for (const PackedVariables& packed :
       {PackedVariables{false, false}, {true, false}, {false, true}, {true, true}}) {
    auto operands = ChooseMatrixOperands(flat, format, is_constant, packed);
    if (!operands.has_value()) continue;
    auto plan = WithTiles(*std::move(operands), settings);
    if (plan.has_value()) plans.push_back(*std::move(plan));
  }
  return plans;
}

std::optional<PlannedKernel> MatrixCandidate(const poly::FlatContraction& flat,
                                             const HardwareSettings& settings, MatrixFormat format,
                                             const std::vector<bool>& is_constant) {
  std::vector<PlannedKernel> plans = MatrixCandidates(flat, settings, format, is_constant);
  const auto best = std::min_element(plans.begin(), plans.end(),
                                     [](const PlannedKernel& a, const PlannedKernel& b) {
                                       return a.predicted_us < b.predicted_us;
                                     });
  if (best == plans.end()) return std::nullopt;
  return std::move(*best);
}

}  // namespace tartan::plan
