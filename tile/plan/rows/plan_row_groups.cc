// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include "tile/plan/machine.h"
#include "tile/plan/rows/row_group_blocks.h"
#include "tile/plan/rows/row_group_planners.h"
#include "tile/plan/rows/row_registers.h"

namespace tartan::plan {
namespace {

constexpr int64_t kGroupThreads = 256;    // target work-items per work-group
constexpr int64_t kVectorsPerThread = 4;  // target vectors per work-item and row
constexpr int64_t kRowGroupsPerUnit = 4;  // minimum work-groups per compute unit

std::vector<int64_t> Strides(const poly::FlatContraction& flat,
                             const std::vector<math::Affine>& coords,
                             const std::vector<int64_t>& dims) {
  return poly::Flatten(coords, dims, static_cast<int>(flat.indices.size())).strides;
}

class RowGroupPlanner {
 public:
  RowGroupPlanner(const std::vector<int64_t>& rows, const std::vector<poly::RowKernel>& kernels,
                  const std::vector<poly::RowTensor>& tensors, const HardwareSettings& settings)
      : rows_(rows), kernels_(kernels), tensors_(tensors), settings_(settings) {}

  std::optional<RowGroupPlan> Run() const {
    if (!settings_.has_local_memory || !AreEligible()) return std::nullopt;
    // Any block size shows the work per row.
    const RowGroupPlan sample = WithBlock(1);
    int64_t vectors = 1;
    for (const RowGroupStage& stage : sample.stages) {
      vectors = std::max(vectors, stage.Elements() / stage.lanes);
    }
    const bool rows_first = RowsAreAdjacent();
    const int64_t threads = std::min(kGroupThreads, MostThreads());
    const int64_t most_rows = rows_first ? gpu::kWarp : threads;
    int64_t row_threads = 1;
    while (row_threads * kVectorsPerThread < vectors && 2 * row_threads <= MostThreads()) {
      row_threads *= 2;
    }
    int64_t block = 1;
    for (int64_t count = 1; !rows_.empty() && count <= std::min(most_rows, rows_.back()); ++count) {
      if (rows_.back() % count != 0 || !FitsLocalMemory(count)) continue;
      const bool in_group = rows_first || row_threads * count <= threads;
      if (in_group && EmploysUnits(count)) block = count;
    }
    while (row_threads > 1 && row_threads * block > std::max(threads, row_threads)) {
      row_threads /= 2;
    }
    if (rows_first) {
      while (row_threads > 1 && row_threads * block > threads) row_threads /= 2;
    }
    RowGroupPlan plan = WithBlock(block);
    plan.row_threads = row_threads;
    plan.rows_first = rows_first;
    AllocateRowRegisters(kernels_, settings_, &plan);
    if (!FitsLocalMemory(block, &plan)) return std::nullopt;
    return plan;
  }

 private:
  RowGroupPlan WithBlock(int64_t count) const {
    return CutIntoBlocks(rows_, kernels_, tensors_, count);
  }

  int64_t MostThreads() const {
    return std::max<int64_t>(settings_.threads, settings_.max_work_group_size);
  }

  // Returns whether reductions give one element per row, and whether partial results of a row can
  // be combined.
  bool AreEligible() const {
    for (const poly::RowKernel& kernel : kernels_) {
      const poly::FlatContraction& flat = kernel.flat;
      if (!flat.is_reduction()) continue;
      if (flat.needs_hits() || flat.accumulator_type == DataType::kBool) return false;
      for (int i = 0; i < flat.output_index_count; ++i) {
        if (!IsOneOf(kernel.axes, i) && flat.indices[i].range > 1) return false;
      }
    }
    return true;
  }

  bool EmploysUnits(int64_t block) const {
    int64_t groups = 1;
    for (int64_t range : rows_) groups *= range;
    return block == 1 || groups / block >= kRowGroupsPerUnit * settings_.compute_units;
  }

  // Returns whether local memory holds two partial results per work-item and the block's arrays;
  // with `plan`, only the arrays that are not in registers.
  bool FitsLocalMemory(int64_t block, const RowGroupPlan* plan = nullptr) const {
    int64_t bytes = 0;
    std::set<DataType> partial_types;
    for (size_t k = 0; k < kernels_.size(); ++k) {
      const poly::FlatContraction& flat = kernels_[k].flat;
      const DataType type = flat.accumulator_type;
      if (flat.is_reduction() && partial_types.insert(type).second) {
        bytes += 2 * MostThreads() * ByteWidth(type);
      }
      const int output = kernels_[k].output;
      if (output < 0 || (plan != nullptr && !plan->stages[k].stores)) continue;
      bytes +=
          tensors_[output].Shape(flat.outputs[0].shape.type, RowsOfBlock(rows_, block)).byte_size();
    }
    return bytes <= settings_.local_memory_bytes;
  }

  // Returns whether consecutive rows are closer in memory than consecutive elements of a row.
  bool RowsAreAdjacent() const {
    if (rows_.empty()) return false;
    for (const poly::RowKernel& kernel : kernels_) {
      const poly::FlatContraction& flat = kernel.flat;
      for (const poly::TensorAccess& access : flat.accesses) {
        const std::vector<int64_t> strides =
            Strides(flat, access.coords, flat.tensors[access.tensor].shape.dims);
        int64_t along = 0;
        for (size_t i = 0; i < strides.size(); ++i) {
          if (strides[i] == 0 || IsOneOf(kernel.axes, static_cast<int>(i))) continue;
          const int64_t stride = std::abs(strides[i]);
          along = along == 0 ? stride : std::min(along, stride);
        }
        const int64_t across = std::abs(strides[kernel.axes.back()]);
        if (along > 0 && across > 0) return across < along;
      }
    }
    return false;
  }

  const std::vector<int64_t>& rows_;
  const std::vector<poly::RowKernel>& kernels_;
  const std::vector<poly::RowTensor>& tensors_;
  const HardwareSettings& settings_;
};

}  // namespace

std::optional<RowGroupPlan> PlanRowGroups(const std::vector<int64_t>& rows,
                                          const std::vector<poly::RowKernel>& kernels,
                                          const std::vector<poly::RowTensor>& tensors,
                                          const HardwareSettings& settings) {
  return RowGroupPlanner(rows, kernels, tensors, settings).Run();
}

}  // namespace tartan::plan
