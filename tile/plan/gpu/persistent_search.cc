// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/gpu/persistent_search.h"

#include <algorithm>
#include <utility>

#include "tile/base/launch_batch_limits.h"
#include "tile/plan/gpu/factors.h"
#include "tile/plan/machine.h"
#include "tile/plan/matrix_plan.h"

namespace tartan::plan {
namespace {

constexpr int64_t kMaxKeptRows = 4;   // maximum rows; a work-item has sums of its own for each
constexpr int64_t kMaxKeptSums = 32;  // maximum sums per work-item
// Registers for the launch counter and prefetched arguments of the next launch. With 16 more
// weights in registers, ptxas spills (sm_90).
constexpr int64_t kBatchRegisters = 8;
// Cycles of a launch besides the multiplication: adding up partial sums, computing results, loading
// the next launch's arguments. Empirical.
constexpr double kFixedLaunchCycles = 700;
constexpr double kCyclesOfPartial = 4;  // cycles per partial sum of an element; empirical
// Multiply-adds in float32 per cycle of a compute unit; NVIDIA.
constexpr double kMultiplyAddsPerCycle = 128;
constexpr double kReadBytesPerCycle = 128;  // bytes per cycle of a compute unit's local memory

class PersistentSearch {
 public:
  PersistentSearch(const poly::FlatContraction& flat, const HardwareSettings& settings,
                   const std::vector<bool>& is_constant,
                   const std::function<bool(int, int)>& is_next)
      : flat_(flat), machine_(settings), is_constant_(is_constant), is_next_(is_next) {
    const int64_t most = settings.matrix_local_bytes == 0
                             ? std::min(settings.local_memory_bytes, kMaxBatchLocalBytes)
                             : settings.matrix_local_bytes;
    local_bytes_ = std::min(most, kMaxBatchFillingBytes);
  }

  std::optional<PlannedKernel> Run() const {
    const auto factors = FactorsOf(flat_);
    if (!factors.has_value() || !IsWhole()) return std::nullopt;
    std::optional<PersistentPlan> best;
    for (const auto& [rows, weights] : {*factors, {factors->second, factors->first}}) {
      std::optional<PersistentPlan> plan = WithIndices(rows, weights);
      if (!plan.has_value()) continue;
      for (plan->columns = 1; OwnSums(*plan) <= kMaxKeptSums; plan->columns *= 2)
        Divide(*plan, &best);
    }
    if (!best.has_value()) return std::nullopt;
    PlannedKernel planned;
    planned.flat = flat_;
    planned.predicted_us = best->cost.microseconds;
    planned.cost = best->cost.ToString();
    planned.plan = *std::move(best);
    return planned;
  }

 private:
  // Returns whether every element of all outputs is a sum over all points.
  bool IsWhole() const {
    return flat_.point_count() > 0 && flat_.constraints.empty() && flat_.store_guard.empty() &&
           !flat_.may_be_empty && flat_.second_body == nullptr &&
           static_cast<int>(flat_.indices.size()) == flat_.output_index_count + 1;
  }

  int64_t OwnSums(const PersistentPlan& plan) const {
    return plan.RowCount(flat_) * plan.OwnSums(flat_);
  }

  bool IsFloat32(int access) const {
    return flat_.tensors[flat_.accesses[access].tensor].shape.type == DataType::kFloat32;
  }

  bool IsConstant(int access) const {
    const int tensor = flat_.accesses[access].tensor;
    return tensor < static_cast<int>(is_constant_.size()) && is_constant_[tensor];
  }

  std::optional<PersistentPlan> WithIndices(int rows, int weights) const {
    if (!IsFloat32(rows) || !IsFloat32(weights) || !IsConstant(weights)) return std::nullopt;
    const poly::FlatAccess of_rows = poly::Flatten(flat_, rows);
    const poly::FlatAccess of_weights = poly::Flatten(flat_, weights);
    PersistentPlan plan;
    plan.rows_access = rows;
    plan.weights_access = weights;
    plan.reduced = flat_.output_index_count;
    plan.column = -1;
    for (int i = 0; i < flat_.output_index_count; ++i) {
      const bool in_rows = of_rows.strides[i] != 0;
      const bool in_weights = of_weights.strides[i] != 0;
      if (i == flat_.accumulator_index) {
        if (in_rows) return std::nullopt;
      } else if (!in_weights) {
        plan.rows.push_back(i);
      } else if (plan.column >= 0 || in_rows) {
        return std::nullopt;
      } else {
        plan.column = i;
      }
    }
    const bool has_k = of_rows.strides[plan.reduced] != 0 && of_weights.strides[plan.reduced] != 0;
    if (plan.column < 0 || !has_k || plan.RowCount(flat_) > kMaxKeptRows) return std::nullopt;
    plan.carried_output = CarriedOutput(plan, of_rows);
    return plan;
  }

  // Returns the output that may be the next launch's rows: it must have the same layout. -1: none.
  int CarriedOutput(const PersistentPlan& plan, const poly::FlatAccess& rows) const {
    const poly::FlatAccess stored = poly::Flatten(flat_.output_coords, flat_.output_dims,
                                                  static_cast<int>(flat_.indices.size()));
    bool is_alike = stored.offset == rows.offset &&
                    stored.strides[plan.column] == rows.strides[plan.reduced] &&
                    plan.ColumnCount(flat_) == plan.KSize(flat_);
    for (int i : plan.rows) is_alike &= stored.strides[i] == rows.strides[i];
    if (!is_alike) return -1;
    const int tensor = flat_.accesses[plan.rows_access].tensor;
    const TensorShape& shape = flat_.tensors[tensor].shape;
    for (int o = 0; o < static_cast<int>(flat_.outputs.size()); ++o) {
      const TensorShape& output = flat_.outputs[o].shape;
      const bool has_all =
          output.type == shape.type && output.element_count() == shape.element_count();
      if (has_all && is_next_(tensor, o)) return o;
    }
    return -1;
  }

  // Completes a plan with as many sharers of K as there are work-items, and keeps the best plan.
  void Divide(PersistentPlan plan, std::optional<PersistentPlan>* best) const {
    const int64_t parts = plan.Parts(flat_);
    if (parts > PersistentPlan::kThreads) return;
    const int64_t most = PersistentPlan::kThreads / parts;
    plan.sharers = std::min(most, TilesOf(plan.KSize(flat_), PersistentPlan::kVector));
    plan.sharers = TilesOf(plan.KSize(flat_), plan.OwnK(flat_));
    plan.held = std::min(plan.Vectors(flat_), FreeRegisters(plan) / PersistentPlan::kVector);
    if (plan.held < 0 || plan.LocalBytes(flat_) > local_bytes_) return;
    plan.cost = Estimate(plan);
    const bool is_better =
        !best->has_value() || plan.cost.microseconds < (*best)->cost.microseconds;
    if (is_better) *best = std::move(plan);
  }

  // Registers of a work-item for weights. The others hold its sums, a vector of rows, a vector of
  // weights, inputs of the epilogue and addresses.
  int64_t FreeRegisters(const PersistentPlan& plan) const {
    const auto reads = static_cast<int64_t>(flat_.accesses.size());
    const auto buffers = static_cast<int64_t>(flat_.outputs.size() + flat_.tensors.size());
    const int64_t taken =
        OwnSums(plan) + 2 * PersistentPlan::kVector + reads + 2 * buffers + kBatchRegisters;
    return gpu::kRegisters - gpu::kOverheadRegisters - taken;
  }

  PersistentCost Estimate(const PersistentPlan& plan) const {
    const auto rows = static_cast<double>(plan.RowCount(flat_));
    const double weights = static_cast<double>(plan.Vectors(flat_) * PersistentPlan::kVector *
                                               PersistentPlan::kThreads);
    // A warp reads one vector of the rows at a time if all its work-items belong to one sharer.
    const double reads = plan.Parts(flat_) % gpu::kWarp == 0 ? 1 : 2;
    const double vectors = static_cast<double>(plan.OwnK(flat_) / PersistentPlan::kVector *
                                               (PersistentPlan::kThreads / gpu::kWarp));
    const double local_cycles =
        static_cast<double>(plan.WeightsSize(flat_) * 4) / kReadBytesPerCycle +
        rows * reads * vectors;
    const double product_cycles = std::max(rows * weights / kMultiplyAddsPerCycle, local_cycles);
    const double rounds = static_cast<double>(
        TilesOf(plan.RowCount(flat_) * plan.ColumnCount(flat_), PersistentPlan::kThreads));
    const double partials = static_cast<double>(plan.sharers * flat_.accumulators_per_element());
    PersistentCost cost;
    cost.load_us = machine_.Microseconds(weights * 4 / gpu::kCacheBytesPerCycle);
    cost.gemm_us = machine_.Microseconds(product_cycles);
    cost.microseconds =
        cost.gemm_us +
        machine_.Microseconds(rounds * (kFixedLaunchCycles + kCyclesOfPartial * partials));
    return cost;
  }

  const poly::FlatContraction& flat_;
  const Machine machine_;
  const std::vector<bool>& is_constant_;
  const std::function<bool(int tensor, int output)>& is_next_;
  int64_t local_bytes_ = 0;
};

}  // namespace

std::optional<PlannedKernel> PersistentCandidate(
    const poly::FlatContraction& flat, const HardwareSettings& settings,
    const std::vector<bool>& is_constant,
    const std::function<bool(int tensor, int output)>& is_next) {
  if (!settings.batches_launches || !settings.has_local_memory || settings.threads <= 1 ||
      settings.max_work_group_size < PersistentPlan::kThreads) {
    return std::nullopt;
  }
  return PersistentSearch(flat, settings, is_constant, is_next).Run();
}

}  // namespace tartan::plan
