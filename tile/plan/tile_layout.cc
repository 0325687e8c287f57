// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/tile_layout.h"

#include <algorithm>
#include <numeric>

namespace tartan::plan {
namespace {

int64_t Magnitude(int64_t value) { return value < 0 ? -value : value; }

int64_t PowerOfTwoAtLeast(int64_t value) {
  int64_t power = 1;
  while (power < value) power *= 2;
  return power;
}

bool IsConstrained(int index, absl::Span<const math::RangeConstraint> constraints) {
  return std::any_of(constraints.begin(), constraints.end(),
                     [index](const math::RangeConstraint& constraint) {
                       return !constraint.poly.coefficient(index).is_zero();
                     });
}

// Returns whether every constraint on one of the indices is on both, in the ratio of their scales.
bool SeenAlike(const TileDim& dim, int index, int64_t scale,
               absl::Span<const math::RangeConstraint> constraints) {
  for (const math::RangeConstraint& constraint : constraints) {
    for (const TileDim::Member& member : dim.members) {
      if (constraint.poly.coefficient(member.index) * scale !=
          constraint.poly.coefficient(index) * member.scale) {
        return false;
      }
    }
  }
  return true;
}

void Join(int index, int64_t scale, int64_t tile, TileDim* dim) {
  dim->members.push_back({index, scale});
  const int64_t reach = Magnitude(scale) * (tile - 1);
  dim->range += reach;
  if (scale < 0) dim->origin += reach;
}

// Orders dimensions: odd ranges first, then the largest.
std::vector<int> OddOrder(const std::vector<TileDim>& dims) {
  std::vector<int> order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    const bool odd_a = dims[a].range % 2 == 1;
    const bool odd_b = dims[b].range % 2 == 1;
    return odd_a != odd_b ? odd_a : dims[a].range > dims[b].range;
  });
  return order;
}

}  // namespace

int64_t TileLayout::ElementCount() const {
  int64_t count = 1;
  for (const TileDim& dim : dims) count *= dim.range;
  return count;
}

std::pair<int, int64_t> TileLayout::DimOf(int index) const {
  for (size_t d = 0; d < dims.size(); ++d) {
    for (const TileDim::Member& member : dims[d].members) {
      if (member.index == index) return {static_cast<int>(d), member.scale};
    }
  }
  return {-1, 0};
}

int64_t TileLayout::LocalStride(int index) const {
  const auto [dim, scale] = DimOf(index);
  return dim < 0 ? 0 : dims[dim].local_stride * scale;
}

int TileLayout::VectorDim() const {
  for (int d = static_cast<int>(dims.size()); d-- > 0;) {
    if (dims[d].vector > 1) return d;
  }
  return -1;
}

bool TileLayout::StoresVectors() const {
  const int vector_dim = VectorDim();
  if (vector_dim < 0) return false;
  const int64_t lanes = dims[vector_dim].vector;
  bool stores = dims[vector_dim].local_stride == 1 && size % lanes == 0;
  for (int d = 0; d < static_cast<int>(dims.size()); ++d) {
    stores &= d == vector_dim || dims[d].local_stride % lanes == 0;
  }
  return stores;
}

std::vector<TileDim> MergeTileDims(const poly::FlatAccess& access, absl::Span<const int64_t> tile,
                                   absl::Span<const math::RangeConstraint> constraints) {
  std::vector<int> order;
  for (size_t i = 0; i < tile.size(); ++i) {
    const bool matters = tile[i] > 1 || IsConstrained(static_cast<int>(i), constraints);
    if (access.strides[i] != 0 && matters) order.push_back(static_cast<int>(i));
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return Magnitude(access.strides[a]) < Magnitude(access.strides[b]);
  });
  std::vector<TileDim> dims;
  for (int i : order) {
    const int64_t stride = access.strides[i];
    bool joined = false;
    for (TileDim& dim : dims) {
      if (stride % dim.global_stride != 0) continue;
      const int64_t scale = stride / dim.global_stride;
      if (dim.range < Magnitude(scale) || !SeenAlike(dim, i, scale, constraints)) continue;
      Join(i, scale, tile[i], &dim);
      joined = true;
      break;
    }
    if (joined) continue;
    TileDim dim;
    dim.global_stride = Magnitude(stride);
    Join(i, stride < 0 ? -1 : 1, tile[i], &dim);
    dims.push_back(std::move(dim));
  }
  return dims;
}

TileLayout OddLayout(std::vector<TileDim> dims) {
  TileLayout layout;
  layout.dims = std::move(dims);
  int64_t stride = 1;
  for (int d : OddOrder(layout.dims)) {
    TileDim& dim = layout.dims[d];
    dim.local_stride = stride;
    layout.size = stride * dim.range;
    stride = layout.size | 1;
  }
  return layout;
}

TileLayout VectorLayout(std::vector<TileDim> dims, int contiguous, int64_t vector) {
  TileLayout layout;
  layout.dims = std::move(dims);
  auto round_up = [vector](int64_t value) { return (value + vector - 1) / vector * vector; };
  std::vector<int> order = OddOrder(layout.dims);
  std::stable_partition(order.begin(), order.end(), [=](int d) { return d == contiguous; });
  int64_t stride = 1;
  for (int d : order) {
    TileDim& dim = layout.dims[d];
    dim.local_stride = stride;
    layout.size = round_up(stride * dim.range);
    // The stride is an odd multiple of the vector, so that adjacent positions are in different
    // banks.
    stride = (layout.size / vector | 1) * vector;
  }
  return layout;
}

TileLayout WithoutPadding(TileLayout layout) {
  const int vector_dim = layout.VectorDim();
  const int64_t vector = vector_dim < 0 ? 1 : layout.dims[vector_dim].vector;
  std::vector<TileDim*> order;
  for (TileDim& dim : layout.dims) order.push_back(&dim);
  std::stable_sort(order.begin(), order.end(), [](const TileDim* a, const TileDim* b) {
    return a->local_stride < b->local_stride;
  });
  layout.size = 1;
  for (TileDim* dim : order) {
    dim->local_stride = layout.size;
    layout.size = (layout.size * dim->range + vector - 1) / vector * vector;
  }
  return layout;
}

void SpreadThreads(int64_t threads, int64_t line_elements, TileLayout* layout) {
  std::vector<int> order(layout->dims.size());
  std::iota(order.begin(), order.end(), 0);
  auto units = [&](int d) {
    const TileDim& dim = layout->dims[d];
    return (dim.range + dim.vector - 1) / dim.vector;
  };
  auto is_near = [&](int d) { return layout->dims[d].global_stride * 2 < line_elements; };
  auto waste = [&](int d) {
    return static_cast<double>(PowerOfTwoAtLeast(units(d))) / static_cast<double>(units(d));
  };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    if (is_near(a) != is_near(b)) return is_near(a);
    if (is_near(a)) return layout->dims[a].global_stride < layout->dims[b].global_stride;
    return waste(a) != waste(b) ? waste(a) < waste(b) : units(a) > units(b);
  });
  for (int d : order) {
    TileDim& dim = layout->dims[d];
    dim.threads = std::min(threads, PowerOfTwoAtLeast(units(d)));
    threads /= dim.threads;
  }
}

double LoadCount(const TileLayout& layout, int64_t line_elements) {
  double span = 1;
  for (const TileDim& dim : layout.dims) {
    const int64_t reach = std::min(line_elements, dim.global_stride * dim.range);
    span = std::max(span, static_cast<double>(reach) / static_cast<double>(dim.global_stride));
  }
  return static_cast<double>(layout.ElementCount()) / span;
}

}  // namespace tartan::plan
