// SPDX-License-Identifier: Apache-2.0
// Coordinates of tensor elements as affine functions of loop indices, and their mapping through
// broadcasts and reshapes.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "tile/math/affine.h"
#include "tile/poly/analysis/index_space.h"

namespace tartan::poly {

using Coords = std::vector<math::Affine>;

// Returns minimum and maximum over the index ranges. Requires integer coefficients.
std::pair<int64_t, int64_t> ValueRange(const math::Affine& poly, absl::Span<const Index> indices);

// Returns true if the index ranges imply the constraint.
bool IsImplied(const math::RangeConstraint& constraint, absl::Span<const Index> indices);

// Returns the coordinates in an operand with dimensions `operand` that broadcast to `coords` in a
// result with dimensions `result`.
Coords BroadcastCoords(const Coords& coords, absl::Span<const int64_t> result,
                       absl::Span<const int64_t> operand);

// Converts coordinates in `from` to coordinates in `to`, two shapes of one row-major sequence of
// elements. Returns nothing if the new coordinates are not affine: a split dimension has a
// coordinate that does not separate into parts of matching ranges.
std::optional<Coords> ReshapeCoords(const Coords& coords, absl::Span<const int64_t> from,
                                    absl::Span<const int64_t> to, absl::Span<const Index> indices);

// Returns true if ReshapeCoords succeeds for all coordinates, because no dimension is split, except
// into sizes of 1.
bool ReshapeMergesOnly(absl::Span<const int64_t> from, absl::Span<const int64_t> to);

}  // namespace tartan::poly
