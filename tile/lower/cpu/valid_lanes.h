// SPDX-License-Identifier: Apache-2.0
// Constraints that are decided while code is generated, because the place of a tile is a number.
#pragma once

#include <optional>
#include <vector>

#include "tile/lower/expr_emitter.h"
#include "tile/math/affine.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

// Lanes [begin, end) of a vector.
struct LaneRange {
  int begin = 0;
  int end = 0;

  bool empty() const { return begin >= end; }
};

// Every index that the constraint depends on has a number for a value.
bool IsDecided(const IndexEmitter& indices, const math::RangeConstraint& constraint);

// The lanes at which all constraints hold, of the vector at a position. Requires: IsDecided of
// each.
LaneRange ValidLanes(const IndexEmitter& indices,
                     const std::vector<math::RangeConstraint>& constraints,
                     const VectorShape& vector, const Position& position);

// By how many values of its index to move a vector so that all of its lanes are points of the
// kernel at which the constraints hold, the valid ones at `position` among them. Empty where there
// is no such distance. Requires: IsDecided of each, some but not all lanes are valid.
std::optional<int> DistanceToValid(const poly::FlatContraction& flat, const IndexEmitter& indices,
                                   const std::vector<math::RangeConstraint>& constraints,
                                   const VectorShape& vector, const Position& position);

}  // namespace tartan::lower
