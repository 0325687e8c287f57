// SPDX-License-Identifier: Apache-2.0
// A reduction over a few points as an elementwise kernel: pools, small windows, the gradients of
// both.
#pragma once

#include "tile/poly/flat_contraction.h"

namespace tartan::poly {

// More points than these make long code.
inline constexpr int64_t kMostWrittenOut = 25;

// True of an aggregation of at most kMostWrittenOut points that need not know whether an element
// has any.
bool CanUnroll(const FlatContraction& flat);

// Two tensors are multiplied at every point of the reduction.
bool MultipliesReads(const FlatContraction& flat);

// The same kernel without reduced indices: the values of all points are aggregated in one
// expression, in the order of the indices, each where its constraints hold. Constraints that the
// index ranges imply are gone, and so are points that never are. Requires: CanUnroll.
FlatContraction Unroll(const FlatContraction& flat);

}  // namespace tartan::poly
