// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/rows/split_rows.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/types/span.h"
#include "tile/poly/coords.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::graph {
namespace {

using math::Affine;
using poly::FlatContraction;

// Returns the output index that equals the coordinate and covers the whole dimension, or -1.
int WholeIndex(const FlatContraction& flat, const Affine& coord, int64_t size) {
  const int index = coord.single_variable();
  const bool is_whole = index >= 0 && index < flat.output_index_count &&
                        coord == Affine::Variable(index) && flat.indices[index].range == size;
  return is_whole ? index : -1;
}

// Splits one index; returns false if no index spans several dimensions of `to`.
bool SplitOne(int access, absl::Span<const int64_t> to, FlatContraction* flat) {
  const poly::TensorAccess& read = flat->accesses[access];
  const std::vector<int64_t>& from = flat->tensors[read.tensor].shape.dims;
  int64_t step = 1;  // stride of the dimension
  for (size_t d = from.size(); d-- > 0; step *= from[d]) {
    const int index = WholeIndex(*flat, read.coords[d], from[d]);
    if (index < 0) continue;
    int64_t border = 1;  // stride of a boundary between dimensions of `to`
    for (size_t t = to.size(); t-- > 0;) {
      border *= to[t];
      if (border <= step || border >= step * from[d]) continue;
      if (border % step != 0 || from[d] % (border / step) != 0) continue;
      *flat = poly::SplitIndex(*flat, index, border / step);
      return true;
    }
  }
  return false;
}

// Returns the index with coefficient 1 in a combined coordinate if all other coefficients are
// multiples of its range, or -1.
int InnerIndex(const FlatContraction& flat, const Affine& coord) {
  for (int i = 0; i < flat.output_index_count; ++i) {
    if (!(coord.coefficient(i) == 1) || coord.constant != 0) continue;
    const int64_t range = flat.indices[i].range;
    const Affine rest = coord - Affine::Variable(i);
    bool is_multiple = !rest.is_constant() && range > 1;
    for (int j = 0; j < flat.output_index_count; ++j) {
      is_multiple = is_multiple && rest.coefficient(j).numerator() % range == 0;
    }
    if (is_multiple) return i;
  }
  return -1;
}

// Returns true if an access is affine in a reshape of its tensor.
bool IsAffineIn(const FlatContraction& flat, int access, absl::Span<const int64_t> dims) {
  const poly::TensorAccess& read = flat.accesses[access];
  return poly::ReshapeCoords(read.coords, flat.tensors[read.tensor].shape.dims, dims, flat.indices)
      .has_value();
}

// Splits the index of an output dimension at the coefficients of a reader's coordinate.
void SplitLike(const Affine& coord, size_t dim, FlatContraction* flat) {
  std::vector<int64_t> steps;
  for (const math::Rational& coefficient : coord.coefficients) {
    if (coefficient.numerator() > 1) steps.push_back(coefficient.numerator());
  }
  std::sort(steps.begin(), steps.end(), std::greater<>());
  int64_t size = flat->output_dims[dim];
  int index = WholeIndex(*flat, flat->output_coords[dim], size);
  for (int64_t step : steps) {
    if (index < 0 || size % step != 0 || step >= size) return;
    *flat = poly::SplitIndex(*flat, index, step);
    index = flat->output_index_count - 1;
    size = step;
  }
}

// Returns the output index with stride 1, or -1.
int InnermostOutputIndex(const FlatContraction& flat) {
  const std::vector<int64_t> strides =
      poly::Flatten(flat.output_coords, flat.output_dims, static_cast<int>(flat.indices.size()))
          .strides;
  for (int i = 0; i < flat.output_index_count; ++i) {
    if (strides[i] == 1 && flat.indices[i].range > 1) return i;
  }
  return -1;
}

}  // namespace

std::optional<FlatContraction> SplitForReshapes(
    const FlatContraction& flat,
    const std::function<const std::vector<int64_t>*(int tensor)>& dims) {
  FlatContraction split = flat;
  bool is_split = false;
  for (int a = 0; a < static_cast<int>(flat.accesses.size()); ++a) {
    const std::vector<int64_t>* to = dims(flat.accesses[a].tensor);
    if (to == nullptr) continue;
    FlatContraction divided = split;
    while (!IsAffineIn(divided, a, *to) && SplitOne(a, *to, &divided)) {
    }
    if (divided.indices.size() == split.indices.size() || !IsAffineIn(divided, a, *to)) continue;
    split = std::move(divided);
    is_split = true;
  }
  if (!is_split) return std::nullopt;
  SplitOutputDims(&split);
  return split;
}

std::optional<FlatContraction> SplitForReader(const FlatContraction& flat,
                                              const FlatContraction& reader,
                                              const std::function<bool(int tensor)>& is_result) {
  for (const poly::TensorAccess& access : reader.accesses) {
    if (!is_result(access.tensor)) continue;
    const auto coords = poly::ReshapeCoords(access.coords, reader.tensors[access.tensor].shape.dims,
                                            flat.output_dims, reader.indices);
    if (!coords) continue;
    FlatContraction split = flat;
    for (size_t d = 0; d < coords->size(); ++d) SplitLike((*coords)[d], d, &split);
    if (split.indices.size() == flat.indices.size()) continue;
    SplitOutputDims(&split);
    return split;
  }
  return std::nullopt;
}

std::optional<FlatContraction> SplitColumns(const FlatContraction& flat, int64_t size) {
  const int column = InnermostOutputIndex(flat);
  if (column < 0 || flat.indices[column].range % size != 0) return std::nullopt;
  if (flat.indices[column].range == size) return std::nullopt;
  FlatContraction split = poly::SplitIndex(flat, column, size);
  SplitOutputDims(&split);
  return split;
}

std::vector<int> RowsOfColumns(const FlatContraction& flat) {
  const int columns = InnermostOutputIndex(flat);
  const std::vector<int64_t> strides =
      poly::Flatten(flat.output_coords, flat.output_dims, static_cast<int>(flat.indices.size()))
          .strides;
  std::vector<int> rows;
  for (int i = 0; i < flat.output_index_count; ++i) {
    if (i == columns) continue;
    const bool are_blocks = columns >= 0 && strides[i] == flat.indices[columns].range;
    rows.insert(are_blocks ? rows.begin() : rows.end(), i);
  }
  return rows;
}

void SplitOutputDims(FlatContraction* flat) {
  for (size_t d = 0; d < flat->output_dims.size();) {
    const Affine coord = flat->output_coords[d];
    const int inner = InnerIndex(*flat, coord);
    const int64_t range = inner < 0 ? 1 : flat->indices[inner].range;
    if (inner < 0 || flat->output_dims[d] % range != 0) {
      ++d;
      continue;
    }
    const Affine outer = (coord - Affine::Variable(inner)) * math::Rational(1, range);
    const int64_t outer_size = flat->output_dims[d] / range;
    flat->output_dims[d] = range;
    flat->output_dims.insert(flat->output_dims.begin() + d, outer_size);
    flat->output_coords[d] = Affine::Variable(inner);
    flat->output_coords.insert(flat->output_coords.begin() + d, outer);
  }
}

std::vector<int> OutputIndices(const FlatContraction& flat) {
  std::vector<int> indices(flat.output_index_count);
  std::iota(indices.begin(), indices.end(), 0);
  const auto first_dim = [&](int index) {
    size_t d = 0;
    while (d < flat.output_coords.size() && flat.output_coords[d].coefficient(index).is_zero()) ++d;
    return d;
  };
  std::stable_sort(indices.begin(), indices.end(),
                   [&](int a, int b) { return first_dim(a) < first_dim(b); });
  return indices;
}

}  // namespace tartan::graph
