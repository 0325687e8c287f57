// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/gpu/few_rows_search.h"

#include <algorithm>
#include <utility>

#include "tile/base/launch_batch_limits.h"
#include "tile/plan/gpu/factors.h"
#include "tile/plan/machine.h"
#include "tile/plan/matrix_plan.h"
#include "tile/poly/pack.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::plan {
namespace {

constexpr int64_t kMaxRows = 4;  // maximum rows; a work-item has accumulators for each
// Bytes per cycle of a compute unit's local memory.
constexpr double kLocalBytesPerCycle = 128;

// Streamed weights. Microseconds that a group waits for the preceding launches while its weights
// are copied; empirical.
constexpr double kEarlyUs = 1.5;
// Cycles besides the multiplication: loading the rows, adding up partial sums, storing results;
// empirical.
constexpr double kFixedCycles = 1300;
// Bytes per cycle of asynchronous copies to a compute unit; measured (matrix/matrix_cost.cc).
constexpr double kCopyBytesPerCycle = 45;

// Persistent weights.
constexpr int64_t kMaxOwnSums = 32;  // maximum sums per work-item
// Registers for the launch counter and prefetched arguments of the next launch. With 16 more
// weights in registers, ptxas spills (sm_90).
constexpr int64_t kBatchRegisters = 8;
// Cycles of a launch besides the multiplication: adding up partial sums, computing results, loading
// the next launch's arguments. Empirical.
constexpr double kFixedLaunchCycles = 700;
constexpr double kCyclesOfPartial = 4;  // cycles per partial sum of an element; empirical
// Multiply-adds in float32 per cycle of a compute unit; NVIDIA.
constexpr double kMultiplyAddsPerCycle = 128;

const TensorShape& ShapeOf(const poly::FlatContraction& flat, int access) {
  return flat.tensors[flat.accesses[access].tensor].shape;
}

// Sets the roles of accesses and indices. Returns false unless the kernel multiplies few rows by
// constant float32 weights. An accumulator index belongs to the weights.
bool AssignRoles(const poly::FlatContraction& flat, const std::vector<bool>& is_constant, int rows,
                 int weights, FewRowsPlan* plan) {
  const int tensor = flat.accesses[weights].tensor;
  if (tensor >= static_cast<int>(is_constant.size()) || !is_constant[tensor] ||
      ShapeOf(flat, weights).type != DataType::kFloat32) {
    return false;
  }
  const poly::FlatAccess of_rows = poly::Flatten(flat, rows);
  const poly::FlatAccess of_weights = poly::Flatten(flat, weights);
  plan->rows_access = rows;
  plan->weights_access = weights;
  plan->column = -1;
  for (int i = 0; i < static_cast<int>(flat.indices.size()); ++i) {
    const bool in_rows = of_rows.strides[i] != 0;
    const bool in_weights = of_weights.strides[i] != 0;
    if (i == flat.accumulator_index) {
      if (in_rows) return false;
    } else if (i >= flat.output_index_count) {
      if (!in_weights) return false;
      plan->reduced.push_back(i);
    } else if (!in_weights) {
      plan->rows.push_back(i);
    } else if (plan->column >= 0 || in_rows) {
      return false;
    } else {
      plan->column = i;
    }
  }
  return plan->column >= 0 && plan->RowCount(flat) <= kMaxRows;
}

template <class Plan>
PlannedKernel Planned(poly::FlatContraction flat, Plan plan) {
  PlannedKernel planned;
  planned.flat = std::move(flat);
  planned.predicted_us = plan.cost.microseconds;
  planned.cost = plan.cost.ToString();
  planned.plan = std::move(plan);
  return planned;
}

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
      RowStreamPlan roles;
      if (!AssignRoles(flat_, is_constant_, rows, weights, &roles) || !CanStream(roles)) continue;
      const int64_t units = std::max<int64_t>(machine_.units, 1);
      const int64_t least = (roles.ColumnCount(flat_) + units - 1) / units;
      for (const int64_t vector : {4, 2}) {
        // The same width as with vectors of four.
        if (vector == 2 && (least + 1) / 2 % 2 == 0) continue;
        const int64_t width = (least + vector - 1) / vector * vector;
        std::optional<PlannedKernel> plan = WithBlocks(roles, width, vector);
        if (!plan.has_value()) continue;
        if (!best.has_value() || plan->predicted_us < best->predicted_us) best = std::move(plan);
      }
    }
    return best;
  }

 private:
  bool CanStream(const RowStreamPlan& roles) const {
    const int tensor = flat_.accesses[roles.weights_access].tensor;
    return flat_.accumulator_index < 0 && flat_.tensors[tensor].value != ir::kNoValue &&
           ShapeOf(flat_, roles.weights_access).byte_size() >= least_bytes_ &&
           poly::CanPack(flat_, roles.weights_access, roles.column);
  }

  std::optional<PlannedKernel> WithBlocks(const RowStreamPlan& roles, int64_t width,
                                          int64_t vector) const {
    if (width / vector > RowStreamPlan::kThreads) return std::nullopt;
    const int weights = roles.weights_access;
    const int tensor = flat_.accesses[weights].tensor;
    poly::PackedKernel packed = poly::PackRead(flat_, weights, roles.column, width);
    RowStreamPlan plan;
    plan.rows_access = roles.rows_access;
    plan.weights_access = weights;
    plan.vector = vector;
    if (!AssignIndices(packed.kernel, width, &plan)) return std::nullopt;
    if (plan.LocalBytes(packed.kernel) >
        std::min(settings_.matrix_local_bytes, kMaxBatchFillingBytes)) {
      return std::nullopt;
    }
    plan.cost = Estimate(packed.kernel, plan);
    PlannedKernel planned = Planned(std::move(packed.kernel), std::move(plan));
    planned.packed.push_back({tensor, flat_.tensors[tensor].value, std::move(packed.copy), weights,
                              roles.column, width});
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

  FewRowsCost Estimate(const poly::FlatContraction& kernel, const RowStreamPlan& plan) const {
    FewRowsCost cost;
    const auto bytes = static_cast<double>(plan.WeightsSize(kernel) * 4);
    const double all = bytes * static_cast<double>(plan.GroupCount(kernel));
    cost.load_us = std::max(all / machine_.memory_bytes_per_us,
                            machine_.Microseconds(bytes / kCopyBytesPerCycle));
    cost.gemm_us = machine_.Microseconds(kFixedCycles + static_cast<double>(plan.RowCount(kernel)) *
                                                            bytes / kLocalBytesPerCycle);
    cost.microseconds = machine_.launch_us + std::max(cost.load_us - kEarlyUs, 0.0) + cost.gemm_us;
    return cost;
  }

  const poly::FlatContraction& flat_;
  const HardwareSettings& settings_;
  const Machine machine_;
  const std::vector<bool>& is_constant_;
  const int64_t least_bytes_;
};

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
      PersistentPlan plan;
      if (!AssignRoles(flat_, is_constant_, rows, weights, &plan) || !CanCarry(&plan)) continue;
      for (plan.columns = 1; OwnSums(plan) <= kMaxOwnSums; plan.columns *= 2) Divide(plan, &best);
    }
    if (!best.has_value()) return std::nullopt;
    return Planned(flat_, *std::move(best));
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

  // Returns false unless rows and K are as a recurrent step has them; sets the carried output.
  bool CanCarry(PersistentPlan* plan) const {
    const poly::FlatAccess rows = poly::Flatten(flat_, plan->rows_access);
    if (ShapeOf(flat_, plan->rows_access).type != DataType::kFloat32 ||
        rows.strides[plan->reduced.front()] == 0) {
      return false;
    }
    plan->carried_output = CarriedOutput(*plan, rows);
    return true;
  }

  // Returns the output that may be the next launch's rows: it must have the same layout. -1: none.
  int CarriedOutput(const PersistentPlan& plan, const poly::FlatAccess& rows) const {
    const poly::FlatAccess stored = poly::Flatten(flat_.output_coords, flat_.output_dims,
                                                  static_cast<int>(flat_.indices.size()));
    bool is_alike = stored.offset == rows.offset &&
                    stored.strides[plan.column] == rows.strides[plan.reduced.front()] &&
                    plan.ColumnCount(flat_) == plan.KSize(flat_);
    for (int i : plan.rows) is_alike &= stored.strides[i] == rows.strides[i];
    if (!is_alike) return -1;
    const int tensor = flat_.accesses[plan.rows_access].tensor;
    const TensorShape& shape = ShapeOf(flat_, plan.rows_access);
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

  FewRowsCost Estimate(const PersistentPlan& plan) const {
    const auto rows = static_cast<double>(plan.RowCount(flat_));
    const double weights = static_cast<double>(plan.Vectors(flat_) * PersistentPlan::kVector *
                                               PersistentPlan::kThreads);
    // A warp reads one vector of the rows at a time if all its work-items belong to one sharer.
    const double reads = plan.Parts(flat_) % gpu::kWarp == 0 ? 1 : 2;
    const double vectors = static_cast<double>(plan.OwnK(flat_) / PersistentPlan::kVector *
                                               (PersistentPlan::kThreads / gpu::kWarp));
    const double local_cycles =
        static_cast<double>(plan.WeightsSize(flat_) * 4) / kLocalBytesPerCycle +
        rows * reads * vectors;
    const double product_cycles = std::max(rows * weights / kMultiplyAddsPerCycle, local_cycles);
    const double rounds = static_cast<double>(
        TilesOf(plan.RowCount(flat_) * plan.ColumnCount(flat_), PersistentPlan::kThreads));
    const double partials = static_cast<double>(plan.sharers * flat_.accumulators_per_element());
    FewRowsCost cost;
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

std::optional<PlannedKernel> RowStreamCandidate(const poly::FlatContraction& flat,
                                                const HardwareSettings& settings,
                                                const std::vector<bool>& is_constant,
                                                int64_t least_bytes) {
  if (!settings.batches_launches || settings.matrix_local_bytes == 0) return std::nullopt;
  return RowStreamSearch(flat, settings, is_constant, least_bytes).Run();
}

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
