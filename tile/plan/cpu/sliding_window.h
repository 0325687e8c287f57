// SPDX-License-Identifier: Apache-2.0
// Reduced indices that a CPU plan unrolls completely, such as small windows. The position of a tile
// then determines which of its points the constraints exclude.
#pragma once

#include <optional>
#include <vector>

#include "tile/math/affine.h"
#include "tile/plan/cpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Returns whether the plan unrolls reduced index i completely.
bool IsUnrolled(const poly::FlatContraction& flat, const CpuPlan& plan, int i);

// Returns whether the plan unrolls some reduced index completely.
bool HasWindow(const poly::FlatContraction& flat, const CpuPlan& plan);

// Returns the constraints that depend on output index i and unrolled indices only, and on one
// unrolled index or more.
std::vector<math::RangeConstraint> WindowConstraints(const poly::FlatContraction& flat,
                                                     const CpuPlan& plan, int i);

// Tiles [begin, end) along an index; the first tile is 0.
struct TileRange {
  int64_t begin = 0;
  int64_t end = 0;
};

// Returns the tiles of a loop over output index i whose points satisfy all window constraints on i.
// Empty if no window constraint depends on i, or if the other tiles are too many to generate
// separately. Requires: the loop covers the whole range.
std::optional<TileRange> InnerTiles(const poly::FlatContraction& flat, const CpuPlan& plan, int i);

// Number of distinct elements within a tile for an access with these strides.
int64_t DistinctElements(const CpuPlan& plan, const std::vector<int64_t>& strides);

// Returns whether adjacent outputs read the same elements at different values of `reduced`: the
// stride of `reduced` divides the stride of `output`, and its extent is larger.
bool Slides(const poly::FlatContraction& flat, const std::vector<int64_t>& strides, int output,
            int reduced);

}  // namespace tartan::plan
