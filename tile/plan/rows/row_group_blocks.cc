// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/rows/row_group_blocks.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "tile/plan/machine.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::plan {
namespace {

std::vector<int64_t> StridesOf(const poly::FlatContraction& flat,
                               const std::vector<math::Affine>& coords,
                               const std::vector<int64_t>& dims) {
  return poly::Flatten(coords, dims, static_cast<int>(flat.indices.size())).strides;
}

// Lanes of the widest vectors along an index. More than one only if everything is read and written
// contiguously, and no condition depends on the position in a row. Booleans, such as those of an
// attention mask, are loaded lane by lane, and are not stored as vectors.
int LanesAlong(const poly::FlatContraction& flat, int index) {
  bool plain = flat.constraints.empty() &&
               (!flat.is_reduction() || flat.accumulator_type != DataType::kBool);
  int64_t bytes = 4;
  const auto add = [&](DataType type, const std::vector<int64_t>& strides) {
    plain = plain && (strides[index] == 0 || strides[index] == 1);
    bytes = std::max(bytes, ByteWidth(type));
  };
  for (const poly::TensorAccess& access : flat.accesses) {
    const TensorShape& shape = flat.tensors[access.tensor].shape;
    add(shape.type, StridesOf(flat, access.coords, shape.dims));
    plain = plain && access.guard.empty();
  }
  for (const poly::Output& output : flat.outputs) {
    add(output.shape.type, StridesOf(flat, flat.output_coords, flat.output_dims));
    plain = plain && output.shape.type != DataType::kBool;
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

// Orders the indices by their smallest stride in any tensor, descending, so that a contiguous one
// varies fastest.
void PutContiguousLast(const poly::FlatContraction& flat, std::vector<int>* inner) {
  const auto step = [&](int index) {
    int64_t least = INT64_MAX;
    for (const poly::TensorAccess& access : flat.accesses) {
      const int64_t stride =
          std::abs(StridesOf(flat, access.coords, flat.tensors[access.tensor].shape.dims)[index]);
      if (stride != 0) least = std::min(least, stride);
    }
    return least;
  };
  std::stable_sort(inner->begin(), inner->end(), [&](int a, int b) { return step(a) > step(b); });
}

}  // namespace

bool IsOneOf(const std::vector<int>& indices, int index) {
  return std::find(indices.begin(), indices.end(), index) != indices.end();
}

std::vector<int64_t> RowsOfBlock(const std::vector<int64_t>& rows, int64_t count) {
  std::vector<int64_t> block(rows.size(), 1);
  if (!block.empty()) block.back() = count;
  return block;
}

poly::RowBlock CutKernel(const poly::RowKernel& kernel, std::vector<int64_t> block,
                         const std::vector<poly::RowTensor>& tensors) {
  block.resize(kernel.axes.size(), 1);
  return poly::CutRows(kernel, block, tensors, /*keep_rows=*/true);
}

RowGroupPlan CutIntoBlocks(const std::vector<int64_t>& rows,
                           const std::vector<poly::RowKernel>& kernels,
                           const std::vector<poly::RowTensor>& tensors, int64_t count) {
  RowGroupPlan plan;
  plan.rows = rows;
  plan.block = RowsOfBlock(rows, count);
  for (const poly::RowKernel& kernel : kernels) {
    RowGroupStage stage;
    stage.block = CutKernel(kernel, plan.block, tensors);
    const poly::FlatContraction& flat = stage.block.flat;
    for (int i = 0; i < static_cast<int>(flat.indices.size()); ++i) {
      if (!IsOneOf(stage.block.origins, i) && !IsOneOf(stage.block.rows, i)) {
        stage.inner.push_back(i);
      }
    }
    PutContiguousLast(flat, &stage.inner);
    if (!stage.inner.empty()) stage.lanes = LanesAlong(flat, stage.inner.back());
    plan.stages.push_back(std::move(stage));
  }
  return plan;
}

}  // namespace tartan::plan
