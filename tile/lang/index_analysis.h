// Questions about the index space of one contraction that its polynomials alone answer.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "tile/math/affine.h"

namespace tartan::lang {

// An index variable that no set of bounded polynomials holds fast, so that infinitely many of its
// values are valid; -1 where every one of the `count` variables is bounded.
int FindUnboundedIndex(absl::Span<const math::Affine> bounded, int count);

// True where the output polynomials tell all `count` variables apart, so that no output element
// is written twice. `constraints` are all that is known of the variables: those of accesses, too.
// May be false for a one-to-one access (the question is answered without enumerating).
bool OutputDeterminesIndices(absl::Span<const math::Affine> output,
                             absl::Span<const math::RangeConstraint> constraints, int count);

}  // namespace tartan::lang
