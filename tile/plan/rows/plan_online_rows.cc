// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <utility>

#include "tile/base/launch_batch_limits.h"
#include "tile/plan/gpu/group_staging.h"
#include "tile/plan/machine.h"
#include "tile/plan/rows/plan_gemm_stage.h"
#include "tile/plan/rows/row_arrays.h"
#include "tile/plan/rows/row_cycles.h"
#include "tile/plan/rows/row_group_blocks.h"
#include "tile/plan/rows/row_group_memory.h"
#include "tile/plan/rows/row_group_planners.h"
#include "tile/plan/rows/row_registers.h"

namespace tartan::plan {
namespace {

constexpr int64_t kMinKeys = 512;  // minimum elements of a row; shorter rows are kept whole
// Factor on the predicted time. Measured on an H100 with 16,384 keys: 45 to 60 ms, predicted 27,
// because each block of keys waits for memory and for intermediate results.
constexpr double kMeasuredFactor = 2;
constexpr int64_t kRounding = 512;  // bytes between arrays, which begin at whole lines
// Factor on the best time at which the search stops trying smaller blocks.
constexpr double kOnlineStopFactor = 1.5;

class OnlinePlanner {
 public:
  OnlinePlanner(const std::vector<int64_t>& rows, const poly::OnlineSoftmax& online,
                const HardwareSettings& settings)
      : rows_(rows), online_(online), settings_(settings) {}

  std::optional<RowGroupPlan> Run() {
    const int64_t most = std::min(settings_.threads, kMaxGroupThreads);
    int64_t count = 1;
    while (2 * count <= std::min(rows_.back(), kMaxBlockRows)) count *= 2;
    for (; count > 0; count /= 2) {
      if (rows_.back() % count != 0 && PassesResultsInBuffers(online_.kernels)) continue;
      std::optional<RowGroupPlan> of_count;
      for (const int64_t size : {int64_t{128}, int64_t{64}, int64_t{32}}) {
        // A ragged block of one key would leave a GEMM without a reduction.
        if (2 * size > online_.keys || online_.keys % size == 1) continue;
        for (int64_t threads = most; threads >= std::max(count, kMinThreads); threads /= 2) {
          Keep(WithThreads(count, size, threads), &of_count);
        }
      }
      if (best_ && of_count && of_count->predicted_us > kOnlineStopFactor * best_->predicted_us)
        break;
      Keep(std::move(of_count), &best_);
    }
    return std::move(best_);
  }

 private:
  static void Keep(std::optional<RowGroupPlan> plan, std::optional<RowGroupPlan>* best) {
    if (!plan) return;
    if (!*best || plan->predicted_us < (*best)->predicted_us) *best = std::move(plan);
  }

  RowGroupPlan Cut(int64_t count, int64_t size, int64_t threads, bool is_rest) const {
    const poly::KeyBlocks blocks = poly::CutKeys(online_, size, is_rest);
    RowGroupPlan plan = CutIntoBlocks(rows_, blocks.kernels, blocks.tensors, count);
    plan.row_threads = threads / count;
    plan.walk = {online_.keys, size, {}};
    for (size_t s = 0; s < plan.stages.size(); ++s) {
      plan.stages[s].role = online_.roles[s];
      // Marks the stage as a GEMM, so that its elements are not held in registers; its plan is set
      // later.
      if (poly::HasColumns(online_.kernels[s])) plan.stages[s].product.emplace();
    }
    AllocateRowRegisters(blocks.kernels, settings_, &plan);
    plan.arrays = ShareArrays(blocks.kernels, blocks.tensors, plan);
    return plan;
  }

  static bool AreShort(const RowGroupPlan& plan) {
    return std::all_of(plan.stages.begin(), plan.stages.end(), [&](const RowGroupStage& stage) {
      return stage.product.has_value() || stage.role == poly::OnlineRole::kNone ||
             stage.Elements() <= kMaxItemElements * plan.row_threads;
    });
  }

  std::optional<RowGroupPlan> WithThreads(int64_t count, int64_t size, int64_t threads) const {
    RowGroupPlan plan = Cut(count, size, threads, /*is_rest=*/false);
    if (!AreShort(plan)) return std::nullopt;
    if (online_.keys % size != 0 && !AddRest(count, size, threads, &plan)) return std::nullopt;
    const poly::KeyBlocks blocks = poly::CutKeys(online_, size, /*is_rest=*/false);
    HardwareSettings own = settings_;
    own.batches_launches = false;
    int64_t left =
        own.local_memory_bytes - kRounding - LocalBytesOfRows(blocks.kernels, blocks.tensors, plan);
    plan.predicted_us = Machine(settings_).launch_us + RowStagesUs(plan, blocks.kernels, own);
    if (!PlanGemmStages(blocks.kernels, own, &left, &plan, &plan.stages)) return std::nullopt;
    if (!plan.walk->rest.empty()) {
      plan.predicted_us += RestUs(plan, blocks.kernels, own);
      if (!PlanGemmStages(blocks.kernels, own, &left, &plan, &plan.walk->rest)) return std::nullopt;
    }
    plan.predicted_us *= kMeasuredFactor;
    // Rejects plans that a megakernel would take in, for which they were not planned.
    const bool fits = FitsLaunchBatch(threads, settings_.local_memory_bytes - left, false) &&
                      IsShortForLaunchBatch(plan.predicted_us, false);
    if (settings_.batches_launches && fits) return std::nullopt;
    return plan;
  }

  // Adds the stages of the ragged last block. Their running maxima, sums and block arrays must be
  // the same as for whole blocks.
  bool AddRest(int64_t count, int64_t size, int64_t threads, RowGroupPlan* plan) const {
    RowGroupPlan rest = Cut(count, size, threads, /*is_rest=*/true);
    if (rest.arrays != plan->arrays) return false;
    const auto before = static_cast<int>(plan->held.size());
    for (RowGroupStage& stage : rest.stages) {
      for (int& held : stage.register_reads) held += held < 0 ? 0 : before;
      stage.register_result += stage.register_result < 0 ? 0 : before;
    }
    plan->held.insert(plan->held.end(), rest.held.begin(), rest.held.end());
    plan->walk->rest = std::move(rest.stages);
    return true;
  }

  double RestUs(const RowGroupPlan& plan, const std::vector<poly::RowKernel>& kernels,
                const HardwareSettings& own) const {
    RowGroupPlan rest = plan;
    rest.stages = plan.walk->rest;
    rest.walk->keys = rest.walk->block;  // executed once
    for (RowGroupStage& stage : rest.stages) {
      if (!poly::IsInKeyLoop(stage.role)) stage.role = poly::OnlineRole::kNone;
    }
    return RowStagesUs(rest, kernels, own);
  }

  // Plans the GEMM stages with the remaining local memory.
  bool PlanGemmStages(const std::vector<poly::RowKernel>& kernels, HardwareSettings own,
                      int64_t* left, RowGroupPlan* plan, std::vector<RowGroupStage>* stages) const {
    const bool is_rest = stages != &plan->stages;
    int64_t products =
        std::count_if(stages->begin(), stages->end(), [&](const RowGroupStage& stage) {
          return stage.product.has_value() && !(is_rest && !poly::IsInKeyLoop(stage.role));
        });
    for (size_t s = 0; s < stages->size(); ++s) {
      RowGroupStage& stage = (*stages)[s];
      if (!stage.product.has_value() || (is_rest && !poly::IsInKeyLoop(stage.role))) continue;
      if (*left <= 0) return false;
      own.local_memory_bytes = *left / products--;
      const bool is_sum = stage.role == poly::OnlineRole::kSum;
      stage.product = is_rest && is_sum ? ForRest(stage, *plan->stages[s].ByWorkItems())
                                        : PlanOne(stage, kernels[s], *plan, own);
      if (!stage.product.has_value()) return false;
      const GroupCost& cost = stage.ByWorkItems()->cost;
      *left -= static_cast<int64_t>(cost.local_bytes);
      const double us = cost.microseconds - Machine(settings_).launch_us;
      plan->predicted_us += us * static_cast<double>(is_rest ? 1 : plan->ExecutionCount(s));
    }
    return true;
  }

  // Plans a GEMM stage for one block of keys of each row.
  std::optional<GpuPlan> PlanOne(const RowGroupStage& stage, const poly::RowKernel& kernel,
                                 const RowGroupPlan& plan, const HardwareSettings& own) const {
    std::vector<int64_t> blocks;
    for (size_t a = 0; a < rows_.size(); ++a) {
      blocks.push_back((rows_[a] + plan.block[a] - 1) / plan.block[a]);
    }
    if (poly::IsInKeyLoop(stage.role)) blocks.push_back(1);
    // Sums stay in registers until the next block.
    const bool is_sum = stage.role == poly::OnlineRole::kSum;
    return PlanGemmStage(stage, LocalTensors(kernel), kernel.output >= 0 || is_sum, blocks,
                         plan.Threads(), own, /*holds_local=*/is_sum);
  }

  // Adapts the plan of a sum for whole blocks to the ragged last block. Work-items keep their sums;
  // inputs are read from memory directly. The cost of a whole block is kept.
  std::optional<GpuPlan> ForRest(const RowGroupStage& stage, GpuPlan plan) const {
    const poly::FlatContraction& flat = stage.block.flat;
    for (int i = flat.output_index_count; i < static_cast<int>(flat.indices.size()); ++i) {
      const int64_t threads = plan.splits[i].threads;
      plan.splits[i] = {1, threads, (flat.indices[i].range + threads - 1) / threads};
    }
    if (plan.lane_index >= flat.output_index_count) plan.lane_index = -1;
    plan.staged.clear();
    plan.buffering = Buffering::kNone;
    plan.cost.local_bytes = 0;  // partial results share the memory of whole blocks
    if (!ReasonInvalid(flat, plan, settings_).empty()) return std::nullopt;
    return plan;
  }

  const std::vector<int64_t>& rows_;
  const poly::OnlineSoftmax& online_;
  const HardwareSettings& settings_;
  std::optional<RowGroupPlan> best_;
};

}  // namespace

std::optional<RowGroupPlan> PlanOnlineRows(const std::vector<int64_t>& rows,
                                           const std::vector<poly::RowKernel>& kernels,
                                           const std::vector<poly::RowTensor>& tensors,
                                           const HardwareSettings& settings) {
  if (!settings.has_local_memory || rows.empty() || !MayBeStages(kernels)) return std::nullopt;
  const auto online = poly::FindOnlineSoftmax(kernels, tensors);
  if (!online.has_value() || online->keys < kMinKeys) return std::nullopt;
  return OnlinePlanner(rows, *online, settings).Run();
}

void CutOnlineRows(const std::vector<poly::RowKernel>& kernels,
                   const std::vector<poly::RowTensor>& tensors, RowGroupPlan* plan) {
  const poly::OnlineSoftmax online = *poly::FindOnlineSoftmax(kernels, tensors);
  for (const bool is_rest : {false, true}) {
    const poly::KeyBlocks blocks = poly::CutKeys(online, plan->walk->block, is_rest);
    std::vector<RowGroupStage>& stages = is_rest ? plan->walk->rest : plan->stages;
    for (size_t s = 0; s < stages.size(); ++s) {
      stages[s].block = CutKernel(blocks.kernels[s], plan->block, blocks.tensors);
    }
  }
}

}  // namespace tartan::plan
