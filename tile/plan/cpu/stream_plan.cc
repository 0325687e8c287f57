// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/cpu/stream_plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tile/math/integer.h"
#include "tile/plan/cpu/block_layout.h"
#include "tile/plan/cpu/compute_cost.h"
#include "tile/plan/cpu/cpu_cost.h"
#include "tile/plan/cpu/cpu_kernel.h"
#include "tile/plan/cpu/cut_tasks.h"
#include "tile/plan/cpu/packed_stream.h"
#include "tile/plan/cpu/propose.h"

namespace tartan::plan {
namespace {

constexpr int64_t kMaxRows = 16;  // maximum rows of the GEMM
// Rows of the matrix read side by side. Measured with one row on matrices of 2 to 38 MB, one core:
// 8 and 16 streams reach the bandwidth of memory, 4 and 32 do not. Longer K chunks give more
// accurate sums.
constexpr int64_t kStreams = 16;
constexpr int64_t kManySteps = 4096;       // minimum steps for twice as many streams, for accuracy
constexpr int64_t kWidestVector = 16;      // maximum lanes
constexpr int64_t kDecodedRows = 8;        // rows per tile if the matrix is decoded
constexpr int64_t kMaxDecodedVectors = 8;  // maximum vectors per tile if the matrix is decoded
constexpr int64_t kPartialBytes = 16 << 10;  // bytes of a task's partial results: half of L1
constexpr int64_t kMinColumns = 256;         // minimum columns of a task
// Maximum rows of the matrix that are summed side by side.
constexpr int64_t kMaxMatrixRows = 8;
// Maximum rows if memory prefers one stream. With more, loads of the other factors take longer than
// the stream.
constexpr int64_t kMaxOneStreamRows = 4;
constexpr int kMinStreamLanes = 4;  // minimum lanes along the reduced index
// A matrix of encoded elements needs to exceed only this part of L2: a model has many such
// matrices, which no cache holds together. Empirical.
constexpr double kSmallerMatrices = 8;
constexpr int64_t kMaxParts = 16;  // maximum values per encoded element
// Factor on the compute time if scales multiply the sums of blocks, because a decoded element is
// used for several rows. Empirical.
constexpr double kBlockShare = 0.6;

class StreamPlanner {
 public:
  StreamPlanner(const poly::FlatContraction& flat, const HardwareSettings& settings,
                const LaunchContext& launch)
      : flat_(flat), settings_(settings), kernel_(flat, settings, launch) {}

  std::optional<PlannedKernel> Run() {
    if (!FindMatrix() || !OrderSteps() || !FindIndices()) return std::nullopt;
    const double bytes = Elements(*matrix_) * static_cast<double>(matrix_->bytes);
    const auto cache = static_cast<double>(settings_.l2_bytes);
    if (kernel_.launch.stays_in_cache) return FromCache(bytes);
    if (bytes <= (IsDecoded() ? cache / kSmallerMatrices : cache)) return std::nullopt;
    std::optional<CpuPlan> plan;
    if (matrix_->strides[column_] == 1) {
      if (MayPack() && Range(column_) >= kMinColumns) {
        auto packed = PackedStreamPlan(kernel_, matrix_->access, column_, Rows());
        if (packed) return packed;
      }
      plan = IsTiled() ? AlongTiles() : AlongResults();
    } else if (steps_.size() == 1 && parts_ < 0 && matrix_->strides[steps_.front()] == 1) {
      plan = AlongSum();
    }
    if (!plan) return std::nullopt;
    const CpuCost cost = Cost(*plan, bytes);
    return Propose(kernel_, *std::move(plan), cost);
  }

 private:
  int64_t Range(int i) const { return flat_.indices[i].range; }
  int64_t Rows() const { return row_ < 0 ? 1 : Range(row_); }

  bool MayPack() const {
    return settings_.prefers_one_stream && !IsDecoded() &&
           kernel_.launch.is_constant[flat_.accesses[matrix_->access].tensor];
  }

  // Plans a matrix in L2, whichever of its indices is contiguous.
  std::optional<PlannedKernel> FromCache(double bytes) const {
    if (bytes <= static_cast<double>(settings_.l1_bytes) || !MayPack()) return std::nullopt;
    return PackedStreamPlan(kernel_, matrix_->access, column_, Rows());
  }

  // Finds the largest tensor that the body reads. False if some read is guarded or at computed
  // coordinates.
  bool FindMatrix() {
    for (const CpuKernel::Access& read : kernel_.reads) {
      if (read.access < 0 || !flat_.accesses[read.access].guard.empty()) return false;
      if (!read.in_body) continue;
      if (matrix_ == nullptr || Elements(read) > Elements(*matrix_)) matrix_ = &read;
    }
    return matrix_ != nullptr;
  }

  // Returns whether the matrix's elements are decoded to wider values.
  bool IsDecoded() const { return parts_ >= 0 || matrix_->bytes < kernel_.element_bytes; }

  double Elements(const CpuKernel::Access& read) const { return ElementCount(flat_, read); }

  // Returns whether the access reads scales or zero points of the matrix's blocks.
  bool BelongsToMatrix(const CpuKernel::Access& read) const {
    if (!IsDecoded()) return false;
    for (int i = 0; i < static_cast<int>(flat_.indices.size()); ++i) {
      const bool follows = read.strides[i] != 0;
      const bool is_result = i < flat_.output_index_count;
      if (follows ? matrix_->strides[i] == 0 : is_result && matrix_->strides[i] != 0) return false;
    }
    return true;
  }

  // Orders the reduced indices by their strides in the matrix: one step of the last is one row. A
  // short reduced index that does not move the matrix counts the values packed in one element.
  bool OrderSteps() {
    for (size_t i = flat_.output_index_count; i < flat_.indices.size(); ++i) {
      const auto index = static_cast<int>(i);
      if (matrix_->strides[i] != 0) {
        steps_.push_back(index);
      } else if (parts_ < 0 && Range(index) <= kMaxParts) {
        parts_ = index;
      } else {
        return false;
      }
    }
    std::stable_sort(steps_.begin(), steps_.end(),
                     [&](int a, int b) { return matrix_->strides[a] > matrix_->strides[b]; });
    return !steps_.empty();
  }

  // Finds the output indices:
  // - a column index that the other factors do not follow;
  // - at most one index of a few rows that the matrix does not follow;
  // - any indices that all factors follow.
  bool FindIndices() {
    for (int i = 0; i < flat_.output_index_count; ++i) {
      if (matrix_->strides[i] == 0) {
        if (row_ >= 0 || Range(i) > kMaxRows) return false;
        row_ = i;
        continue;
      }
      const bool is_shared = std::any_of(kernel_.reads.begin(), kernel_.reads.end(),
                                         [&](const CpuKernel::Access& read) {
                                           return read.in_body && !BelongsToMatrix(read) &&
                                                  &read != matrix_ && read.strides[i] != 0;
                                         });
      if (is_shared) continue;
      if (column_ >= 0 && !IsDecoded()) return false;
      if (column_ < 0 || matrix_->strides[i] == 1) column_ = i;
    }
    if (column_ < 0) return false;
    for (size_t i = 0; i < flat_.indices.size(); ++i) {
      const bool is_plain = kernel_.body_irregular[i] == 0 && kernel_.epilogue_irregular[i] == 0 &&
                            !kernel_.constrained[i] && !kernel_.chosen[i];
      if (!is_plain && static_cast<int>(i) != parts_) return false;
    }
    return true;
  }

  int Lanes() const {
    const int64_t lanes = std::min<int64_t>(settings_.vector_width, 16);
    return static_cast<int>(std::max<int64_t>(lanes * 4 / kernel_.element_bytes, 2));
  }

  // A plan with the other output indices outside and `inner` inside.
  CpuPlan Start(int inner) const {
    CpuPlan plan = ScalarPlan(flat_, settings_.threads);
    std::erase(plan.order, inner);
    plan.order.push_back(inner);
    if (row_ < 0) return plan;
    plan.unroll[row_] = plan.task[row_] = Range(row_);
    std::erase(plan.order, row_);
    plan.order.push_back(row_);
    return plan;
  }

  // Reduces the rows and columns of the tile until it fits the registers. Rows of a tile reuse the
  // matrix's vectors.
  bool FitTile(CpuPlan* plan) const {
    const int64_t least = plan->vector_index == column_ ? plan->lanes : 1;
    while (!FitsRegisters(kernel_, *plan)) {
      if (row_ >= 0 && plan->unroll[row_] > 1) {
        plan->unroll[row_] = math::CeilDiv(plan->unroll[row_], 2);
      } else if (plan->unroll[column_] / 2 >= least) {
        plan->unroll[column_] /= 2;
      } else {
        return false;
      }
    }
    return true;
  }

  // Accesses to stage: rows of the other factors that are a multiple of a large power of two apart
  // would evict each other from L1.
  std::vector<int> Staged() const {
    std::vector<int> staged;
    for (const CpuKernel::Access& read : kernel_.reads) {
      if (row_ >= 0 && read.in_body && read.strides[row_] != 0 && CanStage(flat_, read.access)) {
        staged.push_back(read.access);
      }
    }
    std::sort(staged.begin(), staged.end());
    return staged;
  }

  std::optional<CpuPlan> AlongResults() const {
    const int64_t range = Range(column_);
    if (range < kMinColumns || !CanSplitIntoChunks(flat_)) return std::nullopt;
    if (kernel_.writes.front().strides[column_] != 1) return std::nullopt;
    for (const CpuKernel::Access& read : kernel_.reads) {
      if (read.in_body && read.strides[column_] > 1) return std::nullopt;
    }
    int64_t rows_inside = 1;  // rows of the matrix per step of the outermost index
    for (size_t s = 1; s < steps_.size(); ++s) rows_inside *= Range(steps_[s]);
    const int outer = steps_.front();
    const int64_t streams = Range(outer) * rows_inside >= kManySteps ? 2 * kStreams : kStreams;
    // A block of values with a common scale is one K chunk.
    const int64_t numbers = rows_inside * (parts_ < 0 ? 1 : Range(parts_));
    const bool has_short_chunks = rows_inside > 1 && numbers >= kStreams;
    const int64_t chunk_length = has_short_chunks ? 1 : math::CeilDiv(streams, rows_inside);
    if (Range(outer) <= 2 * chunk_length) return std::nullopt;
    CpuPlan plan = Start(column_);
    plan.reduction_order = steps_;
    if (parts_ >= 0) {
      plan.reduction_order.push_back(parts_);
      plan.unroll[parts_] = Range(parts_);
    }
    plan.vector_index = column_;
    plan.lanes = Lanes();
    const int64_t rows = Rows();
    if (row_ >= 0) plan.unroll[row_] = math::CeilDiv(rows, math::CeilDiv(rows, kStreamTileRows));
    const int64_t tile_rows = row_ < 0 ? 1 : plan.unroll[row_];
    plan.unroll[column_] = plan.lanes * std::max<int64_t>(StreamVectors(kernel_) / tile_rows, 1);
    if (!FitTile(&plan)) return std::nullopt;
    const int64_t others = flat_.output_point_count() / (range * rows);
    const int64_t parts = math::CeilDiv(std::max<int64_t>(settings_.compute_units, 1), others);
    const int64_t most = std::max(kPartialBytes / (rows * kernel_.element_bytes), kMinColumns);
    const int64_t columns = std::min(most, std::max(math::CeilDiv(range, parts), kMinColumns));
    const int64_t tiles = math::CeilDiv(columns, plan.unroll[column_]);
    plan.task[column_] = std::min(tiles * plan.unroll[column_], range);
    const auto level = std::find(plan.order.begin(), plan.order.end(), column_);
    plan.block =
        BlockPlan{static_cast<int>(level - plan.order.begin()), outer, chunk_length, Staged()};
    if (PrivateBytes(flat_, plan) > kMaxPrivateBytes) return std::nullopt;
    return plan;
  }

  // Returns whether the matrix consists of blocks of few columns, stored contiguously: one stream.
  bool IsTiled() const {
    return IsDecoded() && steps_.size() > 1 &&
           Range(column_) <= kMaxStreamVectors * kWidestVector && Range(column_) % Lanes() == 0;
  }

  std::optional<CpuPlan> AlongTiles() const {
    for (const CpuKernel::Access& read : kernel_.reads) {
      if (read.in_body && read.strides[column_] > 1) return std::nullopt;
    }
    CpuPlan plan = Start(column_);
    plan.vector_index = column_;
    plan.lanes = Lanes();
    const int64_t vectors = std::min(Range(column_) / plan.lanes, kMaxDecodedVectors);
    const int64_t rows = Rows();
    if (row_ >= 0) plan.unroll[row_] = math::CeilDiv(rows, math::CeilDiv(rows, kDecodedRows));
    plan.unroll[column_] = plan.lanes * vectors;
    plan.task[column_] = Range(column_);
    // Each further row tile decodes the values again, and each further column tile reads the memory
    // again. Encoded values may wait in L1.
    const auto accumulators = [&] {
      return plan.unroll[column_] / plan.lanes * (row_ < 0 ? 1 : plan.unroll[row_]);
    };
    const auto most = static_cast<int64_t>(kernel_.registers) / 2;
    while (plan.unroll[column_] / 2 >= plan.lanes && accumulators() > most) {
      plan.unroll[column_] /= 2;
    }
    while (row_ >= 0 && plan.unroll[row_] > 1 && accumulators() > most) {
      plan.unroll[row_] = math::CeilDiv(plan.unroll[row_], 2);
    }
    plan.reduction_order = steps_;
    if (parts_ >= 0) {
      plan.reduction_order.push_back(parts_);
      plan.unroll[parts_] = Range(parts_);
    }
    for (int i : plan.order) plan.task[i] = Range(i);
    // Memory stalls count as work.
    const double waiting =
        Elements(*matrix_) * static_cast<double>(matrix_->bytes) / cpu::kMemoryBytesPerCycle;
    const double work = ComputeCost(kernel_, plan).compute + waiting;
    CutTasks(flat_, kernel_.machine.TaskCount(work), &plan,
             [&](int i) { return i != row_ && i != column_; });
    return plan;
  }

  std::optional<CpuPlan> AlongSum() const {
    CpuPlan plan = Start(column_);
    const int reduced = steps_.front();
    plan.vector_index = reduced;
    plan.lanes = Lanes();
    while (plan.lanes > kMinStreamLanes && Range(reduced) % plan.lanes != 0) plan.lanes /= 2;
    if (Range(reduced) % plan.lanes != 0) return std::nullopt;
    for (const CpuKernel::Access& read : kernel_.reads) {
      if (read.in_body && read.strides[reduced] > 1) return std::nullopt;
    }
    plan.unroll[reduced] = plan.lanes;
    const int64_t rows = Rows();
    const auto values = static_cast<int64_t>(kernel_.registers) / 2;
    const bool is_one_stream = settings_.prefers_one_stream && rows <= kMaxOneStreamRows;
    const int64_t most = is_one_stream ? 1 : kMaxMatrixRows;
    plan.unroll[column_] = std::min(std::clamp<int64_t>(values / rows, 1, most), Range(column_));
    if (!FitTile(&plan)) return std::nullopt;
    plan.task[column_] = Range(column_);
    const CpuCost cost = ComputeCost(kernel_, plan);
    CutTasks(flat_, kernel_.machine.TaskCount(cost.compute), &plan,
             [&](int i) { return i != row_; });
    return plan;
  }

  CpuCost Cost(const CpuPlan& plan, double bytes) const {
    CpuCost cost = ComputeCost(kernel_, plan);
    if ((plan.block && plan.block->chunk_length == 1) || (!plan.block && steps_.size() > 1)) {
      cost.compute *= kBlockShare;
    }
    cost.AddStreams(bytes, cpu::kMemoryBytesPerCycle);
    cost.DivideAmong(settings_.compute_units, plan.ItemCount(flat_));
    return cost;
  }

  const poly::FlatContraction& flat_;
  const HardwareSettings& settings_;
  const CpuKernel kernel_;
  const CpuKernel::Access* matrix_ = nullptr;
  int row_ = -1;     // output index of the rows; -1: one row
  int column_ = -1;  // output index of the columns
  std::vector<int> steps_;
  int parts_ = -1;  // reduced index of the values in one element; -1: one value
};

}  // namespace

std::optional<PlannedKernel> StreamPlan(const poly::FlatContraction& merged,
                                        const HardwareSettings& settings,
                                        const LaunchContext& launch) {
  if (!merged.is_reduction() || merged.outputs.empty() || merged.output_point_count() == 0 ||
      merged.point_count() == 0 || !merged.constraints.empty() || !merged.store_guard.empty() ||
      merged.needs_hits() || merged.accumulator_type == DataType::kBool) {
    return std::nullopt;
  }
  return StreamPlanner(merged, settings, launch).Run();
}

}  // namespace tartan::plan
