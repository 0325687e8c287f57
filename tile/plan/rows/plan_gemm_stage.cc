// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/rows/plan_gemm_stage.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "tile/plan/gpu/group_cost.h"
#include "tile/plan/gpu/group_staging.h"
#include "tile/plan/gpu/local_reads.h"
#include "tile/plan/gpu/thread_order.h"
#include "tile/plan/machine.h"

namespace tartan::plan {
namespace {

constexpr int64_t kMaxSums = 64;    // maximum sums per work-item
constexpr int64_t kMaxShared = 32;  // maximum work-items that share a sum
constexpr int64_t kVector = 4;      // maximum lanes of a vector
// Memory lines in flight per work-item with direct reads; empirical.
constexpr int64_t kLinesAhead = 8;
constexpr double kLineCycles = 600;  // cycles of latency per batch of such lines; empirical

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Returns the kernel to estimate costs for: the range of a row origin is the number of blocks
// instead of the number of positions.
poly::FlatContraction WithBlocks(const RowGroupStage& stage, const std::vector<int64_t>& blocks) {
  poly::FlatContraction flat = stage.block.flat;
  for (size_t a = 0; a < blocks.size(); ++a) {
    const int origin = stage.block.origins[a];
    if (origin >= 0) flat.indices[origin].range = blocks[a];
  }
  return flat;
}

class GemmStagePlanner {
 public:
  GemmStagePlanner(const RowGroupStage& stage, const std::vector<bool>& is_local,
                   bool is_local_output, const std::vector<int64_t>& blocks, int64_t threads,
                   const HardwareSettings& settings, bool holds_local)
      : flat_(WithBlocks(stage, blocks)),
        problem_(flat_, is_local, is_local_output),
        holds_local_(holds_local),
        threads_(threads),
        settings_(settings) {
    for (int i = 0; i < static_cast<int>(flat_.indices.size()); ++i) {
      const std::vector<int>& origins = stage.block.origins;
      if (std::find(origins.begin(), origins.end(), i) != origins.end()) continue;
      if (flat_.indices[i].range == 1) continue;
      const std::vector<int>& rows = stage.block.rows;
      const bool is_row = std::find(rows.begin(), rows.end(), i) != rows.end();
      int& role = !problem_.is_output(i) ? depth_ : is_row ? row_ : column_;
      has_roles_ = has_roles_ && role < 0;
      role = i;
    }
  }

  std::optional<GpuPlan> Run() {
    if (!has_roles_ || column_ < 0 || depth_ < 0 || !problem_.is_eligible()) return std::nullopt;
    for (int64_t lanes : {kVector, int64_t{2}, int64_t{1}}) {
      if (lanes > 1 && !StoresVectors(lanes)) continue;
      GpuPlan plan = Plain();
      plan.splits[column_].vector = lanes;
      if (lanes > 1) plan.lane_index = column_;
      TryThreads(plan);
      if (Range(depth_) % kVector == 0) {
        plan.splits[depth_].vector = kVector;
        TryThreads(plan);
      }
    }
    if (Range(depth_) % kVector == 0 && problem_.ReadsContiguously(depth_)) {
      GpuPlan plan = Plain();
      plan.lane_index = depth_;
      plan.splits[depth_].vector = kVector;
      TryThreads(plan);
    }
    if (!best_.has_value()) return std::nullopt;
    TryPrefetch();
    for (int i = flat_.output_index_count; i < problem_.index_count(); ++i) {
      best_->step_order.push_back(i);
    }
    return best_;
  }

 private:
  int64_t Range(int i) const { return i < 0 ? 1 : flat_.indices[i].range; }

  GpuPlan Plain() const {
    GpuPlan plan;
    plan.splits.assign(flat_.indices.size(), {});
    return plan;
  }

  bool StoresVectors(int64_t lanes) const {
    if (problem_.contiguous_output() != column_ || Range(column_) % lanes != 0) return false;
    for (const poly::Output& output : flat_.outputs) {
      if (output.shape.type == DataType::kBool) return false;
    }
    return std::all_of(problem_.accesses().begin(), problem_.accesses().end(),
                       [&](const GroupProblem::Access& access) {
                         const int64_t stride = access.flat.strides[column_];
                         return access.may_be_staged && access.in_body ? true
                                                                       : stride == 0 || stride == 1;
                       });
  }

  // Tries every division of the work-items among rows, columns and K.
  void TryThreads(const GpuPlan& plan) {
    const int64_t vectors = Range(column_) / plan.splits[column_].vector;
    for (int64_t columns = 1; columns <= threads_ && columns < 2 * vectors; columns *= 2) {
      for (int64_t rows = 1; rows * columns <= threads_ && rows < 2 * Range(row_); rows *= 2) {
        const int64_t shared = threads_ / (rows * columns);
        if (shared > kMaxShared || shared * plan.splits[depth_].vector > Range(depth_)) continue;
        GpuPlan divided = plan;
        if (row_ >= 0) {
          divided.splits[row_].threads = rows;
          divided.splits[row_].blocks = CeilDiv(Range(row_), rows);
        } else if (rows > 1) {
          continue;
        }
        divided.splits[column_].threads = columns;
        divided.splits[column_].blocks = CeilDiv(vectors, columns);
        divided.splits[depth_].threads = shared;
        int64_t sums = 1;
        for (int i = 0; i < flat_.output_index_count; ++i) sums *= divided.splits[i].held();
        if (sums <= kMaxSums) TrySteps(std::move(divided));
      }
    }
  }

  void TrySteps(GpuPlan plan) {
    IndexSplit& depth = plan.splits[depth_];
    const int64_t most = CeilDiv(Range(depth_), depth.threads * depth.vector);
    for (int64_t blocks = 1;; blocks *= 4) {
      depth.blocks = std::min(blocks, most);
      Try(plan);
      if (blocks >= most) break;
    }
  }

  void Try(GpuPlan plan) {
    plan.thread_parts = OrderThreads(problem_, plan);
    StageAccesses(problem_, &plan);
    if (holds_local_) StageLocal(problem_, &plan);
    plan.cost = EstimateGroupCost(problem_, plan, settings_);
    plan.cost.microseconds += WaitingUs(plan);
    const bool is_sound =
        std::isfinite(plan.cost.microseconds) && ReasonInvalid(flat_, plan, settings_).empty();
    if (!is_sound || (best_ && best_->cost.microseconds <= plan.cost.microseconds)) return;
    best_ = std::move(plan);
  }

  // Stall time of direct reads, which EstimateGroupCost omits because many work-groups hide it.
  // Here there are few.
  double WaitingUs(const GpuPlan& plan) const {
    int64_t lines = 0;
    for (size_t a = 0; a < problem_.accesses().size(); ++a) {
      const GroupProblem::Access& access = problem_.accesses()[a];
      const bool is_staged = std::any_of(
          plan.staged.begin(), plan.staged.end(),
          [&](const StagedAccess& staged) { return staged.access == static_cast<int>(a); });
      if (access.in_body && !access.is_local && !is_staged) lines += LinesOf(access, plan);
    }
    if (lines <= kLinesAhead) return 0;
    const double waits = static_cast<double>(CeilDiv(lines, kLinesAhead) - 1);
    const auto steps = static_cast<double>(plan.StepCount(flat_));
    const double side_by_side = std::max(plan.cost.occupancy, 1e-3) *
                                static_cast<double>(gpu::kResidentItems) /
                                static_cast<double>(threads_);
    const double units = static_cast<double>(std::max<int64_t>(settings_.compute_units, 1));
    const double waves = std::ceil(plan.cost.groups / (units * std::max(side_by_side, 1.0)));
    return Machine(settings_).Microseconds(waves * steps * waits * kLineCycles);
  }

  // Memory lines that a work-item reads in a step.
  int64_t LinesOf(const GroupProblem::Access& access, const GpuPlan& plan) const {
    int64_t lines = 1;
    for (int i : {row_, column_, depth_}) {
      if (i < 0 || access.flat.strides[i] == 0) continue;
      const int64_t bytes = std::abs(access.flat.strides[i]) * ByteWidth(access.type);
      const int64_t reach = plan.splits[i].tile() * bytes;
      lines *=
          std::min(plan.splits[i].held(), CeilDiv(reach, static_cast<int64_t>(gpu::kLineBytes)));
    }
    return lines;
  }

  void TryPrefetch() {
    if (best_->staged.empty() || best_->StepCount(flat_) == 1) return;
    best_->buffering = Buffering::kRegisters;
    GroupCost ahead = EstimateGroupCost(problem_, *best_, settings_);
    ahead.microseconds += WaitingUs(*best_);
    if (ahead.microseconds <= best_->cost.microseconds) {
      best_->cost = ahead;
    } else {
      best_->buffering = Buffering::kNone;
    }
  }

  const poly::FlatContraction flat_;
  const GroupProblem problem_;
  const bool holds_local_;
  const int64_t threads_;
  const HardwareSettings& settings_;
  int row_ = -1;
  int column_ = -1;
  int depth_ = -1;
  bool has_roles_ = true;  // at most one index per role
  std::optional<GpuPlan> best_;
};

}  // namespace

std::optional<GpuPlan> PlanGemmStage(const RowGroupStage& stage, const std::vector<bool>& is_local,
                                     bool is_local_output, const std::vector<int64_t>& blocks,
                                     int64_t threads, const HardwareSettings& settings,
                                     bool holds_local) {
  return GemmStagePlanner(stage, is_local, is_local_output, blocks, threads, settings, holds_local)
      .Run();
}

}  // namespace tartan::plan
