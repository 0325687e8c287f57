// SPDX-License-Identifier: Apache-2.0
// Questions about the index space of one contraction that its polynomials alone answer.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "tile/math/affine.h"
#include "tile/math/integer_system.h"

namespace tartan::lang {

// An index variable that no set of bounded polynomials holds fast, so that infinitely many of its
// values are valid; -1 where every one of the `count` variables is bounded.
int FindUnboundedIndex(absl::Span<const math::Affine> bounded, int count);

// Searches a valid point: each index of `accesses` is an integer in its range, and `constraints`
// hold. kUnknown where the search takes too long.
math::Answer HasValidPoint(absl::Span<const math::RangeConstraint> accesses,
                           absl::Span<const math::RangeConstraint> constraints, int count);

// Two valid points of the index space that write one output element.
struct Collision {
  std::vector<int64_t> first;
  std::vector<int64_t> second;
};

// Whether there are such points; kUnknown where the search takes too long. `accesses` are the
// indices of all tensors, which must be integers in their ranges; `constraints` are the others.
math::Answer FindCollision(absl::Span<const math::Affine> output,
                           absl::Span<const math::RangeConstraint> accesses,
                           absl::Span<const math::RangeConstraint> constraints, int count,
                           Collision& collision);

}  // namespace tartan::lang
