// SPDX-License-Identifier: Apache-2.0
// Reduced indices that a CPU plan unrolls, as it does small windows: then the points of a tile that
// constraints leave out are known where the place of the tile is.
#pragma once

#include <optional>
#include <vector>

#include "tile/math/affine.h"
#include "tile/plan/cpu/cpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// The plan has all values of reduced index i side by side.
bool IsUnrolled(const poly::FlatContraction& flat, const CpuPlan& plan, int i);

// Of some reduced index.
bool HasWindow(const poly::FlatContraction& flat, const CpuPlan& plan);

// The constraints on output index i and on unrolled indices alone, of which there is one at least.
std::vector<math::RangeConstraint> WindowConstraints(const poly::FlatContraction& flat,
                                                     const CpuPlan& plan, int i);

// Tiles [begin, end) along an index, counted from 0.
struct TileRange {
  int64_t begin = 0;
  int64_t end = 0;
};

// The tiles of a loop over output index i in which all window constraints on it hold at
// every point, where the other tiles are few: those can be generated one by one. None where no
// window constraint is on it. The loop is to walk the whole range.
std::optional<TileRange> InnerTiles(const poly::FlatContraction& flat, const CpuPlan& plan, int i);

// The different elements that an access reads within a tile, of those `strides` apart.
int64_t DistinctElements(const CpuPlan& plan, const std::vector<int64_t>& strides);

// A reduced index whose values at neighbouring outputs read the same elements, by an access with
// these strides: its stride divides that of output index `output`, and its reach is greater.
bool Slides(const poly::FlatContraction& flat, const std::vector<int64_t>& strides, int output,
            int reduced);

}  // namespace tartan::plan
