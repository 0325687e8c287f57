// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/gpu/row_stream_search.h"

#include <algorithm>
#include <utility>

#include "tile/base/launch_batch_limits.h"
#include "tile/plan/gpu/factors.h"
#include "tile/plan/machine.h"
#include "tile/poly/pack.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::plan {
namespace {

constexpr int64_t kMaxRows = 4;  // maximum rows; a work-item has accumulators for each
// Microseconds that a group waits for the preceding launches while its weights are copied;
// empirical.
constexpr double kEarlyUs = 1.5;
// Cycles besides the multiplication: loading the rows, adding up partial sums, storing results;
// empirical.
constexpr double kFixedCycles = 1300;
constexpr double kLocalBytesPerCycle = 128;  // bytes per cycle of a compute unit's local memory
// Bytes per cycle of asynchronous copies to a compute unit; measured (matrix/matrix_cost.cc).
constexpr double kCopyBytesPerCycle = 45;

class RowStreamSearch {
 public:
  RowStreamSearch(const poly::FlatContraction& flat, const HardwareSettings& settings,
                  const std::vector<bool>& is_constant, int64_t least_bytes)
      : flat_(flat),
        settings_(settings),
        machine_(settings),
        is_constant_(is_constant),
        least_bytes_(least_bytes) {}

  std::optional<PlannedKernel> Run() {
    const auto factors = FactorsOf(flat_);
    if (!factors.has_value() || !flat_.constraints.empty() || !flat_.store_guard.empty()) {
      return std::nullopt;
    }
    std::optional<PlannedKernel> best;
    for (const auto& [rows, weights] : {*factors, {factors->second, factors->first}}) {
      const std::optional<int> column = ColumnOf(rows, weights);
      if (!column.has_value()) continue;
      const int64_t units = std::max<int64_t>(machine_.units, 1);
      const int64_t least = (flat_.indices[*column].range + units - 1) / units;
      for (const int64_t vector : {4, 2}) {
        // The same width as with vectors of four.
        if (vector == 2 && (least + 1) / 2 % 2 == 0) continue;
        const int64_t width = (least + vector - 1) / vector * vector;
        std::optional<PlannedKernel> plan = WithBlocks(rows, weights, *column, width, vector);
        if (!plan.has_value()) continue;
        if (!best.has_value() || plan->predicted_us < best->predicted_us) best = std::move(plan);
      }
    }
    return best;
  }

 private:
  // The only output index that the constant weights have and the rows do not.
  std::optional<int> ColumnOf(int rows, int weights) const {
    const int tensor = flat_.accesses[weights].tensor;
    const TensorShape& shape = flat_.tensors[tensor].shape;
    const bool is_constant = tensor < static_cast<int>(is_constant_.size()) && is_constant_[tensor];
    if (!is_constant || flat_.tensors[tensor].value == ir::kNoValue ||
        shape.type != DataType::kFloat32 || shape.byte_size() < least_bytes_) {
      return std::nullopt;
    }
    const poly::FlatAccess of_rows = poly::Flatten(flat_, rows);
    const poly::FlatAccess of_weights = poly::Flatten(flat_, weights);
    std::optional<int> column;
    int64_t count = 1;
    for (int i = 0; i < static_cast<int>(flat_.indices.size()); ++i) {
      const bool in_weights = of_weights.strides[i] != 0;
      if (i >= flat_.output_index_count) {
        if (!in_weights) return std::nullopt;
      } else if (!in_weights) {
        count *= flat_.indices[i].range;
      } else if (column.has_value() || of_rows.strides[i] != 0) {
        return std::nullopt;
      } else {
        column = i;
      }
    }
    if (count > kMaxRows || !column.has_value()) return std::nullopt;
    return poly::CanPack(flat_, weights, *column) ? column : std::nullopt;
  }

  std::optional<PlannedKernel> WithBlocks(int rows, int weights, int column, int64_t width,
                                          int64_t vector) const {
    if (width / vector > RowStreamPlan::kThreads) return std::nullopt;
    const int tensor = flat_.accesses[weights].tensor;
    poly::PackedKernel packed = poly::PackRead(flat_, weights, column, width);
    const poly::FlatContraction& kernel = packed.kernel;
    RowStreamPlan plan;
    plan.rows_access = rows;
    plan.weights_access = weights;
    plan.vector = vector;
    if (!AssignIndices(kernel, width, &plan)) return std::nullopt;
    if (plan.LocalBytes(kernel) > std::min(settings_.matrix_local_bytes, kMaxBatchFillingBytes)) {
      return std::nullopt;
    }
    plan.cost = Estimate(kernel, plan);
    PlannedKernel planned;
    planned.predicted_us = plan.cost.microseconds;
    planned.cost = plan.cost.ToString();
    planned.packed.push_back(
        {tensor, flat_.tensors[tensor].value, std::move(packed.copy), weights, column, width});
    planned.plan = std::move(plan);
    planned.flat = std::move(packed.kernel);
    return planned;
  }

  // Returns false if the packed weights of a block are not contiguous.
  static bool AssignIndices(const poly::FlatContraction& kernel, int64_t width,
                            RowStreamPlan* plan) {
    const poly::FlatAccess access = poly::Flatten(kernel, plan->weights_access);
    int64_t block_size = width;
    for (int i = kernel.output_index_count; i < static_cast<int>(kernel.indices.size()); ++i) {
      block_size *= kernel.indices[i].range;
    }
    plan->block = plan->column = -1;
    for (int i = 0; i < kernel.output_index_count; ++i) {
      const int64_t stride = access.strides[i];
      if (stride == 0) {
        plan->rows.push_back(i);
      } else if (stride == 1 && kernel.indices[i].range == width) {
        plan->column = i;
      } else if (stride == block_size) {
        plan->block = i;
      } else {
        return false;
      }
    }
    if (plan->block < 0 || plan->column < 0 || access.offset != 0) return false;
    int64_t stride = block_size;
    for (int i = kernel.output_index_count; i < static_cast<int>(kernel.indices.size()); ++i) {
      stride /= kernel.indices[i].range;
      if (access.strides[i] != stride) return false;
      plan->reduced.push_back(i);
    }
    return block_size % 4 == 0;
  }

  RowStreamCost Estimate(const poly::FlatContraction& kernel, const RowStreamPlan& plan) const {
    RowStreamCost cost;
    const auto bytes = static_cast<double>(plan.WeightsSize(kernel) * 4);
    const double all = bytes * static_cast<double>(plan.GroupCount(kernel));
    cost.load_us = std::max(all / machine_.memory_bytes_per_us,
                            machine_.Microseconds(bytes / kCopyBytesPerCycle));
    cost.compute_us = machine_.Microseconds(
        kFixedCycles + static_cast<double>(plan.RowCount(kernel)) * bytes / kLocalBytesPerCycle);
    cost.microseconds =
        machine_.launch_us + std::max(cost.load_us - kEarlyUs, 0.0) + cost.compute_us;
    return cost;
  }

  const poly::FlatContraction& flat_;
  const HardwareSettings& settings_;
  const Machine machine_;
  const std::vector<bool>& is_constant_;
  const int64_t least_bytes_;
};

}  // namespace

std::optional<PlannedKernel> RowStreamCandidate(const poly::FlatContraction& flat,
                                                const HardwareSettings& settings,
                                                const std::vector<bool>& is_constant,
                                                int64_t least_bytes) {
  if (!settings.batches_launches || settings.matrix_local_bytes == 0) return std::nullopt;
  return RowStreamSearch(flat, settings, is_constant, least_bytes).Run();
}

}  // namespace tartan::plan
