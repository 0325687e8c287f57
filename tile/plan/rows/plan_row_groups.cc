// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/rows/plan_row_groups.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include "tile/plan/machine.h"
#include "tile/plan/rows/row_registers.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::plan {
namespace {

constexpr int64_t kGroupThreads = 256;  // wanted in a work-group
constexpr int64_t kVectorsPerThread = 4;
constexpr int64_t kRowGroupsPerUnit = 4;

bool Contains(const std::vector<int>& indices, int index) {
  return std::find(indices.begin(), indices.end(), index) != indices.end();
}

std::vector<int64_t> Strides(const poly::FlatContraction& flat,
                             const std::vector<math::Affine>& coords,
                             const std::vector<int64_t>& dims) {
  return poly::Flatten(coords, dims, static_cast<int>(flat.indices.size())).strides;
}

// Along an index everything is read and written in whole vectors, and no condition depends on where
// in a row an element is.
int LanesAlong(const poly::FlatContraction& flat, int index) {
  bool plain = flat.constraints.empty() &&
               (!flat.is_reduction() || flat.accumulator_type != DataType::kBool);
  int64_t bytes = 4;
  const auto add = [&](DataType type, const std::vector<int64_t>& strides) {
    plain = plain && type != DataType::kBool && (strides[index] == 0 || strides[index] == 1);
    bytes = std::max(bytes, ByteWidth(type));
  };
  for (const poly::TensorAccess& access : flat.accesses) {
    const TensorShape& shape = flat.tensors[access.tensor].shape;
    add(shape.type, Strides(flat, access.coords, shape.dims));
    plain = plain && access.guard.empty();
  }
  for (const poly::Output& output : flat.outputs) {
    add(output.shape.type, Strides(flat, flat.output_coords, flat.output_dims));
  }
  poly::VisitExprs(flat, [&](const poly::Expr& expr) {
    plain = plain && !std::holds_alternative<poly::ReadAt>(expr.node) &&
            !std::holds_alternative<poly::InRange>(expr.node) &&
            !std::holds_alternative<poly::Coordinate>(expr.node);
  });
  int64_t lanes = plain ? gpu::kAccessBytes / bytes : 1;
  while (flat.indices[index].range % lanes != 0) lanes /= 2;
  return static_cast<int>(lanes);
}

class RowGroupPlanner {
 public:
  RowGroupPlanner(const std::vector<int64_t>& rows, const std::vector<poly::RowKernel>& kernels,
                  const std::vector<poly::RowTensor>& tensors, const HardwareSettings& settings)
      : rows_(rows), kernels_(kernels), tensors_(tensors), settings_(settings) {}

  std::optional<RowGroupPlan> Run() const {
    if (!settings_.has_local_memory || !AreEligible()) return std::nullopt;
    // Any block shows what there is to do in a row.
    const RowGroupPlan sample = WithBlock(1);
    int64_t vectors = 1;
    for (const RowGroupStage& stage : sample.stages) {
      vectors = std::max(vectors, stage.Elements() / stage.lanes);
    }
    const bool rows_first = RowsAreNeighbours();
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
    HoldRows(kernels_, settings_, &plan);
    if (!FitsLocalMemory(block, &plan)) return std::nullopt;
    return plan;
  }

 private:
  int64_t MostThreads() const {
    return std::max<int64_t>(settings_.threads, settings_.max_work_group_size);
  }

  // Reductions give one element per row, and a row's partial results can be joined.
  bool AreEligible() const {
    for (const poly::RowKernel& kernel : kernels_) {
      const poly::FlatContraction& flat = kernel.flat;
      if (!flat.is_reduction()) continue;
      if (flat.needs_hits() || flat.accumulator_type == DataType::kBool) return false;
      for (int i = 0; i < flat.output_index_count; ++i) {
        if (!Contains(kernel.axes, i) && flat.indices[i].range > 1) return false;
      }
    }
    return true;
  }

  bool EmploysUnits(int64_t block) const {
    int64_t groups = 1;
    for (int64_t range : rows_) groups *= range;
    return block == 1 || groups / block >= kRowGroupsPerUnit * settings_.compute_units;
  }

  // Two partial results of each work-item and what is kept of a block: all of it, or what a plan
  // holds in no registers.
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
      bytes += tensors_[output].Shape(flat.outputs[0].shape.type, Block(block)).byte_size();
    }
    return bytes <= settings_.local_memory_bytes;
  }

  std::vector<int64_t> Block(int64_t count) const {
    std::vector<int64_t> block(rows_.size(), 1);
    if (!block.empty()) block.back() = count;
    return block;
  }

  // The last row axis steps by less than the elements of a row do.
  bool RowsAreNeighbours() const {
    if (rows_.empty()) return false;
    for (const poly::RowKernel& kernel : kernels_) {
      const poly::FlatContraction& flat = kernel.flat;
      for (const poly::TensorAccess& access : flat.accesses) {
        const std::vector<int64_t> strides =
            Strides(flat, access.coords, flat.tensors[access.tensor].shape.dims);
        int64_t along = 0;
        for (size_t i = 0; i < strides.size(); ++i) {
          if (strides[i] == 0 || Contains(kernel.axes, static_cast<int>(i))) continue;
          const int64_t stride = std::abs(strides[i]);
          along = along == 0 ? stride : std::min(along, stride);
        }
        const int64_t across = std::abs(strides[kernel.axes.back()]);
        if (along > 0 && across > 0) return across < along;
      }
    }
    return false;
  }

  RowGroupPlan WithBlock(int64_t count) const {
    RowGroupPlan plan;
    plan.rows = rows_;
    plan.block = Block(count);
    for (const poly::RowKernel& kernel : kernels_) {
      RowGroupStage stage;
      stage.block = poly::CutRows(kernel, plan.block, tensors_, /*keep_rows=*/true);
      const poly::FlatContraction& flat = stage.block.flat;
      for (int i = 0; i < static_cast<int>(flat.indices.size()); ++i) {
        if (!Contains(stage.block.origins, i) && !Contains(stage.block.rows, i)) {
          stage.inner.push_back(i);
        }
      }
      PutNearestLast(flat, &stage.inner);
      if (!stage.inner.empty()) stage.lanes = LanesAlong(flat, stage.inner.back());
      plan.stages.push_back(std::move(stage));
    }
    return plan;
  }

  // The index along which the largest tensor has its neighbours varies fastest.
  static void PutNearestLast(const poly::FlatContraction& flat, std::vector<int>* inner) {
    const auto step = [&](int index) {
      int64_t least = INT64_MAX;
      for (const poly::TensorAccess& access : flat.accesses) {
        const int64_t stride =
            std::abs(Strides(flat, access.coords, flat.tensors[access.tensor].shape.dims)[index]);
        if (stride != 0) least = std::min(least, stride);
      }
      return least;
    };
    std::stable_sort(inner->begin(), inner->end(), [&](int a, int b) { return step(a) > step(b); });
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
