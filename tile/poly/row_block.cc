// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/row_block.h"

#include <algorithm>
#include <utility>

#include "tile/poly/coords.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::poly {
namespace {

using math::Affine;

// Index mapping of a cut kernel. A cut index counts from its origin, which is a new index after the
// other output indices.
class Cut {
 public:
  Cut(const RowKernel& kernel, const std::vector<int64_t>& block)
      : flat_(kernel.flat), origins_(block.size(), -1), axis_(kernel.flat.indices.size(), -1) {
    int added = 0;
    for (size_t a = 0; a < block.size(); ++a) {
      const int index = kernel.axes[a];
      axis_[index] = static_cast<int>(a);
      if (block[a] == flat_.indices[index].range) continue;
      origins_[a] = block[a] == 1 ? index : flat_.output_index_count + added++;
    }
    added_ = added;
  }

  const std::vector<int>& origins() const { return origins_; }

  Affine Map(const Affine& poly) const {
    Affine mapped = Affine::Constant(poly.constant);
    for (int i = 0; i < static_cast<int>(flat_.indices.size()); ++i) {
      const math::Rational coefficient = poly.coefficient(i);
      if (coefficient.is_zero()) continue;
      mapped.set_coefficient(i < flat_.output_index_count ? i : i + added_, coefficient);
      const int origin = axis_[i] < 0 ? -1 : origins_[axis_[i]];
      if (origin >= 0) mapped.set_coefficient(origin, coefficient);
    }
    return mapped;
  }

  // Returns the position of a row within its block.
  Affine Within(int axis, int index) const {
    return origins_[axis] == index ? Affine::Constant(0) : Affine::Variable(index);
  }

  void AddIndices(const RowKernel& kernel, const std::vector<int64_t>& block,
                  FlatContraction* flat) const {
    for (size_t a = 0; a < block.size(); ++a) {
      const int index = kernel.axes[a];
      if (origins_[a] < 0 || origins_[a] == index) continue;
      const Index rows = flat->indices[index];
      flat->indices[index].range = block[a];
      flat->indices.insert(flat->indices.begin() + origins_[a],
                           {rows.name + "_origin", rows.range - block[a] + 1});
      ++flat->output_index_count;
    }
  }

 private:
  const FlatContraction& flat_;
  std::vector<int> origins_;  // per row axis
  std::vector<int> axis_;     // per index
  int added_ = 0;
};

// Adds the `before` margin to the coordinates of RowTensors. Requires merged indices.
void OffsetByMargins(const RowKernel& kernel, const std::vector<RowTensor>& tensors,
                     FlatContraction* flat) {
  for (TensorAccess& access : flat->accesses) {
    const int kept = kernel.tensors[access.tensor];
    if (kept >= 0) access.coords[0] = access.coords[0] + Affine::Constant(tensors[kept].before);
  }
  for (size_t t = 0; t < flat->tensors.size(); ++t) {
    const int kept = kernel.tensors[t];
    if (kept >= 0) flat->tensors[t].shape.dims[0] += tensors[kept].before + tensors[kept].after;
  }
  if (kernel.output < 0) return;
  const RowTensor& tensor = tensors[kernel.output];
  flat->output_coords[0] = flat->output_coords[0] + Affine::Constant(tensor.before);
  flat->output_dims[0] += tensor.before + tensor.after;
}

}  // namespace

TensorShape RowTensor::Shape(DataType type, const std::vector<int64_t>& block) const {
  TensorShape shape = {type, dims};
  for (size_t d = 0; d < dims.size(); ++d) {
    if (axes[d] >= 0) shape.dims[d] = block[axes[d]];
  }
  return shape;
}

std::set<ir::ValueId> ResultsInMemory(const std::vector<RowKernel>& kernels) {
  std::set<ir::ValueId> values;
  for (const RowKernel& kernel : kernels) {
    if (kernel.output >= 0) continue;
    for (const Output& output : kernel.flat.outputs) values.insert(output.value);
  }
  return values;
}

bool ReadsFromMemory(const RowKernel& kernel, const std::set<ir::ValueId>& values) {
  for (size_t t = 0; t < kernel.tensors.size(); ++t) {
    if (kernel.tensors[t] < 0 && values.count(kernel.flat.tensors[t].value) > 0) return true;
  }
  return false;
}

bool HasColumns(const RowKernel& kernel) {
  if (!kernel.flat.is_reduction()) return false;
  for (int i = 0; i < kernel.flat.output_index_count; ++i) {
    const bool is_row = std::find(kernel.axes.begin(), kernel.axes.end(), i) != kernel.axes.end();
    if (!is_row && kernel.flat.indices[i].range > 1) return true;
  }
  return false;
}

std::optional<std::vector<Affine>> RowCoords(const FlatContraction& flat,
                                             const TensorAccess& access, const RowTensor& tensor,
                                             const std::vector<int>& axes) {
  auto coords = ReshapeCoords(access.coords, flat.tensors[access.tensor].shape.dims, tensor.dims,
                              flat.indices);
  if (!coords) return std::nullopt;
  for (size_t d = 0; d < tensor.dims.size(); ++d) {
    if (tensor.axes[d] < 0) continue;
    if (!((*coords)[d] == Affine::Variable(axes[tensor.axes[d]]))) return std::nullopt;
  }
  return coords;
}

void AddMargins(const std::vector<RowKernel>& kernels, std::vector<RowTensor>* tensors) {
  for (const RowKernel& kernel : kernels) {
    for (const TensorAccess& access : kernel.flat.accesses) {
      const int kept = kernel.tensors[access.tensor];
      if (kept < 0) continue;
      RowTensor& tensor = (*tensors)[kept];
      const auto rows = static_cast<int64_t>(kernel.axes.size());
      const auto is_row = [](int axis) { return axis >= 0; };
      if (!std::all_of(tensor.axes.begin(), tensor.axes.begin() + rows, is_row)) continue;
      const auto coords = RowCoords(kernel.flat, access, tensor, kernel.axes);
      const std::vector<int64_t> strides = RowMajorStrides(tensor.dims);
      Affine place;
      int64_t count = 1;
      for (size_t d = rows; d < tensor.dims.size(); ++d) {
        place = place + (*coords)[d] * strides[d];
        count *= tensor.dims[d];
      }
      const auto [least, greatest] = ValueRange(place, kernel.flat.indices);
      tensor.before = std::max(tensor.before, -least);
      tensor.after = std::max(tensor.after, greatest - count + 1);
    }
  }
}

RowBlock CutRows(const RowKernel& kernel, const std::vector<int64_t>& block,
                 const std::vector<RowTensor>& tensors, bool keep_rows) {
  const FlatContraction& flat = kernel.flat;
  const Cut cut(kernel, block);
  const auto keep_block = [&](const RowTensor& tensor, std::vector<Affine>* coords) {
    for (size_t d = 0; d < coords->size(); ++d) {
      const int axis = tensor.axes[d];
      (*coords)[d] = axis < 0 ? cut.Map((*coords)[d]) : cut.Within(axis, kernel.axes[axis]);
    }
  };
  FlatContraction result = MapPolys(flat, [&](const Affine& poly) { return cut.Map(poly); });
  for (size_t a = 0; a < flat.accesses.size(); ++a) {
    const TensorAccess& access = flat.accesses[a];
    const int kept = kernel.tensors[access.tensor];
    if (kept < 0) continue;
    result.accesses[a].coords = *RowCoords(flat, access, tensors[kept], kernel.axes);
    keep_block(tensors[kept], &result.accesses[a].coords);
  }
  for (size_t t = 0; t < flat.tensors.size(); ++t) {
    if (kernel.tensors[t] < 0) continue;
    result.tensors[t].shape = tensors[kernel.tensors[t]].Shape(flat.tensors[t].shape.type, block);
  }
  if (kernel.output >= 0) {
    const RowTensor& tensor = tensors[kernel.output];
    result.output_coords = flat.output_coords;
    keep_block(tensor, &result.output_coords);
    for (Output& output : result.outputs) output.shape = tensor.Shape(output.shape.type, block);
    result.output_dims = tensor.Shape(DataType::kBool, block).dims;
  }
  cut.AddIndices(kernel, block, &result);
  std::vector<int> kept = cut.origins();
  for (size_t a = 0; a < block.size(); ++a) {
    kept.push_back(keep_rows && block[a] > 1 ? kernel.axes[a] : -1);
  }
  RowBlock row_block;
  row_block.flat = MergeIndices(std::move(result), &kept);
  OffsetByMargins(kernel, tensors, &row_block.flat);
  row_block.origins.assign(kept.begin(), kept.begin() + static_cast<int64_t>(block.size()));
  row_block.rows.assign(kept.begin() + static_cast<int64_t>(block.size()), kept.end());
  return row_block;
}

}  // namespace tartan::poly
