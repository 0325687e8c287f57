// SPDX-License-Identifier: Apache-2.0
// Analysis of one contraction's index space by its polynomials alone.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "tile/math/affine.h"
#include "tile/math/integer_system.h"

namespace tartan::lang {

// An index variable that the bounded polynomials do not bound, so that infinitely many values are
// valid; -1 if each of the `count` variables is bounded.
int FindUnboundedIndex(absl::Span<const math::Affine> bounded, int count);

// Searches a valid point: each index of `accesses` is an integer in range, and `constraints` hold.
// kUnknown if the search takes too long.
math::Answer HasValidPoint(absl::Span<const math::RangeConstraint> accesses,
                           absl::Span<const math::RangeConstraint> constraints, int count);

// Two valid points of the index space that write one output element.
struct Collision {
  std::vector<int64_t> first;
  std::vector<int64_t> second;
};

// Searches such points; kUnknown if the search takes too long. `accesses` are the indices of all
// tensors, which must be integers in range; `constraints` are the other conditions.
math::Answer FindCollision(absl::Span<const math::Affine> output,
                           absl::Span<const math::RangeConstraint> accesses,
                           absl::Span<const math::RangeConstraint> constraints, int count,
                           Collision& collision);

}  // namespace tartan::lang
