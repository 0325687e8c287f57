// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/cpu/column_plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tile/plan/cpu/block_layout.h"
#include "tile/plan/cpu/compute_cost.h"
#include "tile/plan/cpu/cpu_cost.h"
#include "tile/plan/cpu/propose.h"

namespace tartan::plan {
namespace {

// Sizes of a tile. Measured on sums of 64 rows of 1 MiB, 3072 rows of 3 KiB and 1024 rows of 4 KiB:
// half the time of 32 columns at a time down all rows. Fewer rows or columns lose a fifth.
constexpr int64_t kRows = 8;          // rows per K chunk
constexpr int64_t kColumns = 1024;    // maximum columns per task
constexpr int64_t kMinColumns = 256;  // minimum columns per task
constexpr int64_t kVectors = 4;       // vectors of columns per register tile

class ColumnPlanner {
 public:
  ColumnPlanner(const poly::FlatContraction& flat, const HardwareSettings& settings)
      : flat_(flat), settings_(settings), kernel_(flat, settings) {}

  std::optional<PlannedKernel> Run() const {
    const int v = Columns();
    if (v < 0 || !ReadsRowsOnce(v)) return std::nullopt;
    CpuPlan plan = ScalarPlan(flat_, settings_.threads);
    int64_t lanes = std::min<int64_t>(settings_.vector_width, 16);
    lanes = std::max<int64_t>(lanes * 4 / kernel_.element_bytes, 2);
    plan.vector_index = v;
    plan.lanes = static_cast<int>(lanes);
    plan.unroll[v] = kVectors * lanes;
    if (!FitsRegisters(kernel_, plan)) return std::nullopt;
    std::erase(plan.order, v);
    plan.order.push_back(v);
    // Each core gets some columns, unless other output indices provide enough tasks.
    const int64_t range = flat_.indices[v].range;
    const int64_t others = flat_.output_point_count() / range;
    const int64_t parts = (settings_.compute_units + others - 1) / others;
    const int64_t columns = std::min(kColumns, std::max((range + parts - 1) / parts, kMinColumns));
    const int64_t tiles = (columns + plan.unroll[v] - 1) / plan.unroll[v];
    plan.task[v] = std::min(tiles * plan.unroll[v], range);
    plan.block = BlockPlan{static_cast<int>(plan.order.size()) - 1, Rows(), kRows, {}};
    if (PrivateBytes(flat_, plan) > kMaxPrivateBytes) return std::nullopt;
    const CpuCost cost = Cost(plan);
    return Propose(kernel_, std::move(plan), cost);
  }

 private:
  int Rows() const { return flat_.output_index_count; }

  // The output index along which results are contiguous; -1: no index of kMinColumns values or
  // more.
  int Columns() const {
    for (int i = 0; i < flat_.output_index_count; ++i) {
      if (kernel_.writes.front().strides[i] == 1 && flat_.indices[i].range >= kMinColumns) {
        return i;
      }
    }
    return -1;
  }

  // Returns whether elements that vary along the columns are read once, row by row, and exceed L2
  // in total. All other reads must be equal in all columns.
  bool ReadsRowsOnce(int v) const {
    double bytes = 0;
    for (const CpuKernel::Access& read : kernel_.reads) {
      if (read.access < 0 || read.irregular[v]) return false;
      if (read.strides[v] == 0) continue;
      if (read.strides[v] != 1) return false;
      for (size_t i = 0; i < flat_.indices.size(); ++i) {
        if (read.strides[i] == 0) return false;
      }
      if (read.strides[Rows()] < flat_.indices[v].range) return false;
      bytes += static_cast<double>(flat_.point_count() * read.bytes);
    }
    return bytes > static_cast<double>(settings_.l2_bytes);
  }

  // Counts one load and one store of the partial results per K chunk.
  CpuCost Cost(const CpuPlan& plan) const {
    const double vectors = static_cast<double>(flat_.point_count()) / plan.lanes;
    CpuCost cost;
    cost.compute =
        vectors * std::max(kernel_.body_operations / kernel_.machine.operations_per_cycle,
                           static_cast<double>(kernel_.reads.size()) / cpu::kLoadsPerCycle);
    cost.epilogue = 2 * vectors / kRows;
    double bytes = 0;
    for (const poly::Tensor& tensor : flat_.tensors) {
      bytes += static_cast<double>(tensor.shape.byte_size());
    }
    cost.AddStreams(bytes, cpu::kMemoryBytesPerCycle);
    return cost;
  }

  const poly::FlatContraction& flat_;
  const HardwareSettings& settings_;
  const CpuKernel kernel_;
};

}  // namespace

std::optional<PlannedKernel> ColumnPlan(const poly::FlatContraction& merged,
                                        const HardwareSettings& settings) {
  const auto reduced = static_cast<int>(merged.indices.size()) - merged.output_index_count;
  if (!merged.is_reduction() || reduced != 1 || merged.outputs.size() != 1 ||
      merged.indices.back().range <= 2 * kRows || merged.output_point_count() == 0 ||
      !merged.constraints.empty() || !merged.store_guard.empty() ||
      merged.accumulator_type == DataType::kBool || !CanSplitIntoChunks(merged)) {
    return std::nullopt;
  }
  const ColumnPlanner planner(merged, settings);
  return planner.Run();
}

}  // namespace tartan::plan
