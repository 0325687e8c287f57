// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/rows/row_layout.h"

#include <algorithm>
#include <cstdlib>

namespace tartan::graph {

using math::Affine;
using poly::FlatContraction;

Layout LayoutOf(const FlatContraction& flat, const std::vector<int>& axes) {
  Layout layout = Layout::kNone;
  const auto add = [&](const std::vector<Affine>& coords, const std::vector<int64_t>& dims) {
    // Larger than any stride.
    constexpr int64_t kFar = int64_t{1} << 62;
    int64_t along = kFar;
    int64_t across = kFar;
    const std::vector<int64_t> strides =
        poly::Flatten(coords, dims, static_cast<int>(flat.indices.size())).strides;
    for (size_t i = 0; i < strides.size(); ++i) {
      if (strides[i] == 0 || flat.indices[i].range == 1) continue;
      int64_t& least = IsRow(axes, static_cast<int>(i)) ? across : along;
      least = std::min(least, std::abs(strides[i]));
    }
    if (along == kFar || across == kFar) return;
    layout = Join(layout, along <= across ? Layout::kAlong : Layout::kAcross);
  };
  for (const poly::TensorAccess& access : flat.accesses) {
    add(access.coords, flat.tensors[access.tensor].shape.dims);
  }
  add(flat.output_coords, flat.output_dims);
  return layout;
}

Layout Join(Layout a, Layout b) {
  if (a == Layout::kNone) return b;
  return b == Layout::kNone || a == b ? a : Layout::kMixed;
}

bool IsRow(const std::vector<int>& axes, int index) {
  return std::find(axes.begin(), axes.end(), index) != axes.end();
}

}  // namespace tartan::graph
