// SPDX-License-Identifier: Apache-2.0
// Constraints that are decided at compile time, because the tile is at a constant position.
#pragma once

#include <optional>
#include <vector>

#include "tile/lower/emit/expr_emitter.h"
#include "tile/math/affine.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

// Lanes [begin, end) of a vector.
struct LaneRange {
  int begin = 0;
  int end = 0;

  bool empty() const { return begin >= end; }
};

// Returns whether every index that the constraint depends on has a constant value.
bool IsDecided(const IndexEmitter& indices, const math::RangeConstraint& constraint);

// The lanes of the vector at `position` for which all constraints hold. Requires IsDecided of each.
LaneRange ValidLanes(const IndexEmitter& indices,
                     const std::vector<math::RangeConstraint>& constraints,
                     const VectorShape& vector, const Position& position);

// The distance, in values of its index, by which a vector must move. All its lanes are then valid
// points of the kernel, and include the valid lanes at `position`. Nothing if there is no such
// distance. Requires IsDecided of each constraint, and that some but not all lanes are valid.
std::optional<int> DistanceToValid(const poly::FlatContraction& flat, const IndexEmitter& indices,
                                   const std::vector<math::RangeConstraint>& constraints,
                                   const VectorShape& vector, const Position& position);

}  // namespace tartan::lower
