// SPDX-License-Identifier: Apache-2.0
// Coordinates of tensor elements as affine functions of loop indices, and what becomes of them
// under broadcasting and reshaping.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "tile/math/affine.h"
#include "tile/poly/index_space.h"

namespace tartan::poly {

using Coords = std::vector<math::Affine>;

// The least and greatest value over the index ranges. Requires integer coefficients.
std::pair<int64_t, int64_t> ValueRange(const math::Affine& poly, absl::Span<const Index> indices);

// True where the ranges alone guarantee the constraint.
bool IsImplied(const math::RangeConstraint& constraint, absl::Span<const Index> indices);

// The element of an operand with sizes `operand` that broadcasts to `coords` of a result with sizes
// `result`.
Coords BroadcastCoords(const Coords& coords, absl::Span<const int64_t> result,
                       absl::Span<const int64_t> operand);

// Coordinates in `to` of the element at `coords` of `from`, two shapes of one row-major sequence of
// elements. Empty where they are no affine functions: a dimension is split whose coordinate does
// not fall apart into parts of fitting ranges.
std::optional<Coords> ReshapeCoords(const Coords& coords, absl::Span<const int64_t> from,
                                    absl::Span<const int64_t> to, absl::Span<const Index> indices);

// True where ReshapeCoords(…, from, to, …) succeeds whatever the coordinates are: no dimension is
// split, sizes of 1 aside.
bool ReshapeMergesOnly(absl::Span<const int64_t> from, absl::Span<const int64_t> to);

}  // namespace tartan::poly
