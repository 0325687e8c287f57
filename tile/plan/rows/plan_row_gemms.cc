// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "tile/base/launch_batch_limits.h"
#include "tile/base/parallel_map.h"
#include "tile/plan/machine.h"
#include "tile/plan/rows/plan_gemm_stage.h"
#include "tile/plan/rows/prefetch_gemm_operands.h"
#include "tile/plan/rows/row_arrays.h"
#include "tile/plan/rows/row_cycles.h"
#include "tile/plan/rows/row_group_blocks.h"
#include "tile/plan/rows/row_group_memory.h"
#include "tile/plan/rows/row_group_planners.h"
#include "tile/plan/rows/row_registers.h"

namespace tartan::plan {
namespace {

// Work-groups per compute unit from which on a plan is slower than predicted.
constexpr int64_t kCrowdedGroups = 8;
// Factor on its time: fewer groups are resident than for separate GEMMs (H100, attention of 32
// images, 12 heads, 197 rows: 454 us, predicted 215).
constexpr double kCrowdedCost = 2;
// Factor on the best time at which the search stops trying larger blocks.
constexpr double kStopFactor = 1.3;

class RowGemmPlanner {
 public:
  RowGemmPlanner(const std::vector<int64_t>& rows, const std::vector<poly::RowKernel>& kernels,
                 const std::vector<poly::RowTensor>& tensors, const HardwareSettings& settings)
      : rows_(rows), kernels_(kernels), tensors_(tensors), settings_(settings) {}

  std::optional<RowGroupPlan> Run() const {
    if (!settings_.has_local_memory || rows_.empty() || !MayBeStages(kernels_)) return std::nullopt;
    const int64_t most = std::min(settings_.threads, kMaxGroupThreads);
    std::optional<RowGroupPlan> best;
    for (int64_t count = 1; count <= std::min(rows_.back(), kMaxBlockRows); count *= 2) {
      if (rows_.back() % count != 0 && PassesResultsInBuffers(kernels_)) continue;
      std::optional<RowGroupPlan> best_of_blocks =
          Fastest(CutIntoBlocks(rows_, kernels_, tensors_, count), count, most);
      if (!best_of_blocks.has_value()) continue;
      if (best && best_of_blocks->predicted_us > kStopFactor * best->predicted_us) break;
      if (!best || best_of_blocks->predicted_us < best->predicted_us) {
        best = std::move(best_of_blocks);
      }
    }
    return best;
  }

 private:
  // Returns the fastest plan of these blocks of `count` rows, with at most `most` work-items. Plans
  // all candidates at once, because a candidate takes some milliseconds.
  std::optional<RowGroupPlan> Fastest(const RowGroupPlan& blocks, int64_t count,
                                      int64_t most) const {
    struct Candidate {
      int64_t row_threads;
      bool in_launch_batch;
    };
    std::vector<Candidate> candidates;
    for (int64_t threads = std::max(std::min(kMinThreads, most), count); threads <= most;
         threads *= 2) {
      candidates.push_back({threads / count, false});
      if (settings_.batches_launches) candidates.push_back({threads / count, true});
    }
    const auto plans = ParallelMap(static_cast<int>(candidates.size()), [&](int c) {
      return WithThreads(blocks, candidates[c].row_threads, candidates[c].in_launch_batch);
    });
    std::optional<RowGroupPlan> best;
    for (const std::optional<RowGroupPlan>& plan : plans) {
      if (plan.has_value() && (!best || plan->predicted_us < best->predicted_us)) best = plan;
    }
    return best;
  }

  std::vector<int64_t> BlockCounts(const RowGroupPlan& plan) const {
    std::vector<int64_t> counts;
    for (size_t a = 0; a < rows_.size(); ++a) {
      counts.push_back((rows_[a] + plan.block[a] - 1) / plan.block[a]);
    }
    return counts;
  }

  int64_t GroupCount(const RowGroupPlan& plan) const {
    int64_t groups = 1;
    for (const int64_t count : BlockCounts(plan)) groups *= count;
    return groups;
  }

  // Plans a standalone launch, or a launch in a megakernel, where a compute unit has fewer
  // work-items.
  std::optional<RowGroupPlan> WithThreads(RowGroupPlan plan, int64_t row_threads,
                                          bool in_launch_batch) const {
    plan.row_threads = row_threads;
    for (size_t s = 0; s < kernels_.size(); ++s) {
      // Marks the stage as a GEMM, so that its elements are not held in registers; its plan is set
      // later.
      if (poly::HasColumns(kernels_[s])) {
        plan.stages[s].product.emplace();
      } else if (plan.stages[s].Elements() > kMaxItemElements * row_threads) {
        return std::nullopt;
      }
    }
    HardwareSettings own = settings_;
    own.batches_launches = in_launch_batch;
    if (in_launch_batch) {
      own.local_memory_bytes = std::min(own.local_memory_bytes, kMaxBatchLocalBytes);
    }
    AllocateRowRegisters(kernels_, settings_, &plan);
    plan.arrays = ShareArrays(kernels_, tensors_, plan);
    const int64_t all = own.local_memory_bytes;
    int64_t left = all - LocalBytesOfRows(kernels_, tensors_, plan);
    const Machine machine(settings_);
    double us = RowStagesUs(plan, kernels_, own);
    int64_t products = std::count_if(kernels_.begin(), kernels_.end(), poly::HasColumns);
    for (size_t s = 0; s < kernels_.size(); ++s) {
      if (!plan.stages[s].product.has_value()) continue;
      if (left <= 0) return std::nullopt;
      own.local_memory_bytes = left / products--;
      std::optional<GpuPlan> product =
          PlanGemmStage(plan.stages[s], LocalTensors(kernels_[s]), kernels_[s].output >= 0,
                        BlockCounts(plan), plan.Threads(), own);
      if (!product.has_value()) return std::nullopt;
      left -= static_cast<int64_t>(product->cost.local_bytes);
      us += product->cost.microseconds - machine.launch_us;
      plan.stages[s].product = std::move(product);
    }
    if (GroupCount(plan) >= kCrowdedGroups * std::max<int64_t>(settings_.compute_units, 1)) {
      us *= kCrowdedCost;
    }
    plan.predicted_us = us + (in_launch_batch ? machine.megakernel_launch_us : machine.launch_us);
    // Rejects plans that a megakernel would take in, for which they were not planned, and the
    // reverse.
    const bool fits = FitsLaunchBatch(plan.Threads(), all - left, false) &&
                      IsShortForLaunchBatch(plan.predicted_us, false);
    if (settings_.batches_launches && fits != in_launch_batch) return std::nullopt;
    return plan;
  }

  const std::vector<int64_t>& rows_;
  const std::vector<poly::RowKernel>& kernels_;
  const std::vector<poly::RowTensor>& tensors_;
  const HardwareSettings& settings_;
};

}  // namespace

std::optional<RowGroupPlan> PlanRowGemms(const std::vector<int64_t>& rows,
                                         const std::vector<poly::RowKernel>& kernels,
                                         const std::vector<poly::RowTensor>& tensors,
                                         const HardwareSettings& settings) {
  std::optional<RowGroupPlan> plan = RowGemmPlanner(rows, kernels, tensors, settings).Run();
  if (plan.has_value()) PrefetchGemmOperands(kernels, settings, &*plan);
  return plan;
}

}  // namespace tartan::plan
