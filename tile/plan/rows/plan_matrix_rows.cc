// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <utility>

#include "tile/base/launch_batch_limits.h"
#include "tile/plan/machine.h"
#include "tile/plan/matrix/matrix_cost.h"
#include "tile/plan/matrix/matrix_operands.h"
#include "tile/plan/rows/row_arrays.h"
#include "tile/plan/rows/row_cycles.h"
#include "tile/plan/rows/row_group_blocks.h"
#include "tile/plan/rows/row_group_memory.h"
#include "tile/plan/rows/row_group_planners.h"
#include "tile/plan/rows/row_registers.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::plan {
namespace {

constexpr int64_t kMaxColumns = 256;         // maximum columns of a tensor-core GEMM
constexpr int64_t kTileAlignment = 1 << 10;  // bytes, alignment of tiles
constexpr int64_t kItemRegisters = 255;      // maximum registers per work-item
// Adjacent columns of a row per work-item and vector: four work-items share a row.
constexpr int64_t kLanes = 2;
// Factor on the predicted time if not all work-groups are resident at once. Separate kernels then
// take two to three times their prediction, this one only a little more. H100, tf32, ViT with 32
// images: GEMMs 85, 60 and 60 us instead of 27, 30 and 30; this kernel 100 instead of 90. H200,
// bfloat16, GPT with 8 x 256 tokens: separate kernels 46 us instead of 28, this one 18.
constexpr double kManyGroups = 0.75;
// Microseconds for a launch outside of a megakernel: it divides the launches around it into two
// megakernels. Empirical.
constexpr double kCutSequenceUs = 5;
constexpr int64_t kRowThreads = 4;  // work-items per row
// Maximum steps whose tiles are in local memory at the same time. More would leave room for one
// work-group per compute unit. Longer matmuls have kPipelineStages.
constexpr int64_t kMaxStepsAtOnce = 8;
constexpr int64_t kPipelineStages = 4;

class TensorCoreRowPlanner {
 public:
  TensorCoreRowPlanner(const std::vector<int64_t>& rows,
                       const std::vector<poly::RowKernel>& kernels,
                       const std::vector<poly::RowTensor>& tensors,
                       const HardwareSettings& settings, MatrixFormat format)
      : rows_(rows), kernels_(kernels), tensors_(tensors), settings_(settings), format_(format) {}

  std::optional<RowGroupPlan> Run() const {
    const int64_t count = MatrixPlan::kUnitRows;
    if (count > rows_.back()) return std::nullopt;
    RowGroupPlan plan = CutIntoBlocks(rows_, kernels_, tensors_, count);
    plan.row_threads = kRowThreads;
    plan.item_rows = count * kRowThreads / MatrixPlan::kWarpGroup;
    std::set<ir::ValueId> padded;
    for (size_t s = 0; s < kernels_.size(); ++s) {
      RowGroupStage& stage = plan.stages[s];
      int64_t lanes = kLanes;
      if (!poly::HasColumns(kernels_[s])) {
        if (!WalkPairs(kernels_[s], padded, &stage)) return std::nullopt;
      } else {
        std::optional<MatrixPlan> product = PlanGemmStage(stage, kernels_[s]);
        if (!product.has_value() || !StoreFactor(kernels_[s], *product, &plan)) return std::nullopt;
        lanes = product->lanes;
        stage.product = *std::move(product);
      }
      if (lanes < kLanes) continue;
      for (const poly::Output& output : kernels_[s].flat.outputs) padded.insert(output.value);
    }
    AllocateRowRegisters(kernels_, settings_, &plan);
    if (!KeepsNothing(&plan)) return std::nullopt;
    plan.arrays = ShareArrays(kernels_, tensors_, plan);
    const int64_t bytes = LocalBytesOfRows(kernels_, tensors_, plan) +
                          plan.TilesSize() * ByteWidth(ElementType(format_)) + kTileAlignment;
    if (bytes > settings_.matrix_local_bytes) return std::nullopt;
    plan.predicted_us = PredictedUs(plan, bytes);
    return plan;
  }

 private:
  // Assigns pairs of adjacent elements to work-items. Rows of odd length must be in registers, or
  // in memory with padding after them (compiler/pad_rows.h). `padded`: results of earlier stages
  // that store pairs, and so write padding.
  bool WalkPairs(const poly::RowKernel& kernel, const std::set<ir::ValueId>& padded,
                 RowGroupStage* stage) const {
    if (stage->inner.empty()) return true;
    const poly::FlatContraction& flat = stage->block.flat;
    const int last = stage->inner.back();
    bool is_in_memory = false;
    bool has_room = flat.constraints.empty();
    const auto touch = [&](const std::vector<math::Affine>& coords,
                           const std::vector<int64_t>& dims, bool writes_padding) {
      const std::vector<int64_t> strides =
          poly::Flatten(coords, dims, static_cast<int>(flat.indices.size())).strides;
      if (strides[last] == 0) return;
      is_in_memory = true;
      has_room = has_room && writes_padding && strides[last] == 1 &&
                 dims.back() > flat.indices[last].range;
      for (size_t i = 0; i < strides.size(); ++i) {
        has_room = has_room && (static_cast<int>(i) == last || strides[i] % kLanes == 0);
      }
    };
    if (kernel.output < 0 && !flat.is_reduction())
      touch(flat.output_coords, flat.output_dims, true);
    for (const poly::TensorAccess& access : flat.accesses) {
      const poly::Tensor& tensor = flat.tensors[access.tensor];
      if (kernel.tensors[access.tensor] >= 0) continue;
      touch(access.coords, tensor.shape.dims, padded.count(tensor.value) > 0);
    }
    const bool is_possible =
        is_in_memory ? stage->lanes >= kLanes || has_room : flat.constraints.empty();
    if (!is_possible) return false;
    stage->lanes = kLanes;
    return true;
  }

  // Plans the GEMM of a block's rows, which are the rows of one tile.
  std::optional<MatrixPlan> PlanGemmStage(const RowGroupStage& stage,
                                          const poly::RowKernel& kernel) const {
    std::vector<int> fixed;
    for (int origin : stage.block.origins) {
      if (origin >= 0) fixed.push_back(origin);
    }
    const poly::FlatContraction& flat = stage.block.flat;
    const std::vector<bool> is_local = LocalTensors(kernel);
    auto found = ChooseMatrixOperandsOfGroup(flat, format_, fixed, is_local);
    if (!found.has_value()) return std::nullopt;
    MatrixPlan product = *std::move(found);
    const auto is_kept = [&](const MatrixOperand& operand) {
      return is_local[flat.accesses[operand.access].tensor];
    };
    const bool has_rows = product.rows == std::vector<int>{stage.block.rows.back()};
    if (!has_rows || product.columns.size() != 1 || product.batch.size() != fixed.size() ||
        is_kept(product.right)) {
      return std::nullopt;
    }
    product.row_tile = MatrixPlan::kUnitRows;
    const int64_t columns = CountOf(flat, product.columns);
    const int64_t unit = product.right.along_rows ? product.right_tile().line() : 8;
    product.column_tile = TilesOf(columns, unit) * unit;
    if (product.column_tile > kMaxColumns) return std::nullopt;
    product.holds_results = kernel.output >= 0;
    // Pairs must be complete if the epilogue reads something for them.
    if (product.holds_results && ReadsAlongColumns(flat, product) &&
        (columns % kLanes != 0 || product.lanes < kLanes)) {
      return std::nullopt;
    }
    if (is_kept(product.left)) product.resident_steps = product.StepCount(flat);
    const int64_t steps = product.StepCount(flat);
    product.is_at_once = product.copies_all() && steps <= kMaxStepsAtOnce;
    product.stages = product.is_at_once ? steps : product.copies_all() ? kPipelineStages : 2;
    return product;
  }

  // If an earlier stage computes the left factor, lets that stage write it to the GEMM's tiles.
  bool StoreFactor(const poly::RowKernel& kernel, const MatrixPlan& product,
                   RowGroupPlan* plan) const {
    if (product.resident_steps == 0) return true;
    const poly::FlatContraction& flat = kernel.flat;
    const int kept = kernel.tensors[flat.accesses[product.left.access].tensor];
    for (size_t s = 0; s < kernels_.size(); ++s) {
      RowGroupStage& stage = plan->stages[s];
      if (kernels_[s].output != kept) continue;
      if (stage.product.has_value() || stage.block.flat.is_reduction() || stage.inner.size() != 1) {
        return false;
      }
      stage.result_tile = product.left_tile();
      stage.result_steps = product.resident_steps;
      return IsReadOnce(kept);
    }
    return false;
  }

  bool IsReadOnce(int kept) const {
    int64_t reads = 0;
    for (const poly::RowKernel& kernel : kernels_) {
      for (const poly::TensorAccess& access : kernel.flat.accesses) {
        reads += kernel.tensors[access.tensor] == kept ? 1 : 0;
      }
    }
    return reads == 1;
  }

  // Returns whether all intermediate results are in registers or tiles. Clears `stores` of stages
  // that write to tiles.
  bool KeepsNothing(RowGroupPlan* plan) const {
    for (size_t s = 0; s < kernels_.size(); ++s) {
      RowGroupStage& stage = plan->stages[s];
      if (stage.result_tile) {
        stage.stores = false;
      } else if (kernels_[s].output >= 0 && (stage.stores || stage.register_result < 0)) {
        return false;
      }
    }
    return true;
  }

  double PredictedUs(const RowGroupPlan& plan, int64_t local_bytes) const {
    StageCycles group = RowStagesCycles(plan, kernels_);
    for (const RowGroupStage& stage : plan.stages) {
      const MatrixPlan* product = stage.ByTensorCores();
      if (product == nullptr) continue;
      const MatrixPartCycles cycles = EstimateMatrixPart(stage.block.flat, *product, settings_);
      group.issue += cycles.work;
      group.wait += cycles.wait;
    }
    const Machine machine(settings_);
    const auto us = [&](int64_t resident) {
      return GroupsUs(plan, group, static_cast<double>(std::max<int64_t>(resident, 1)), settings_);
    };
    const int64_t by_memory = settings_.matrix_local_bytes / local_bytes;
    const int64_t by_registers = gpu::kUnitRegisters / (kItemRegisters * plan.Threads());
    const int64_t resident = std::min(by_memory, by_registers);
    const bool are_many = plan.GroupCount() > resident * settings_.compute_units;
    const double alone = machine.launch_us + us(resident) * (are_many ? kManyGroups : 1);
    const bool is_in_sequence =
        settings_.batches_launches && plan.RegisterWords() <= kMaxBatchWords &&
        FitsLaunchBatch(plan.Threads(), local_bytes, true) && IsShortForLaunchBatch(alone, true);
    if (!is_in_sequence) {
      const bool cuts = settings_.batches_launches && IsShortForLaunchBatch(alone, true);
      return alone + (cuts ? kCutSequenceUs : 0);
    }
    return machine.megakernel_launch_us +
           us(std::min(by_memory, kMaxBatchWorkItems / plan.Threads()));
  }

  const std::vector<int64_t>& rows_;
  const std::vector<poly::RowKernel>& kernels_;
  const std::vector<poly::RowTensor>& tensors_;
  const HardwareSettings& settings_;
  const MatrixFormat format_;
};

}  // namespace

std::optional<RowGroupPlan> PlanTensorCoreRows(const std::vector<int64_t>& rows,
                                               const std::vector<poly::RowKernel>& kernels,
                                               const std::vector<poly::RowTensor>& tensors,
                                               const HardwareSettings& settings,
                                               MatrixFormat format) {
  if (settings.matrix_local_bytes == 0 || rows.empty() || !MayBeStages(kernels)) {
    return std::nullopt;
  }
  return TensorCoreRowPlanner(rows, kernels, tensors, settings, format).Run();
}

}  // namespace tartan::plan
