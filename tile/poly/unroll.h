// SPDX-License-Identifier: Apache-2.0
// Unrolls a reduction over a few points into an elementwise kernel: pooling, small windows, and
// their gradients.
#pragma once

#include "tile/poly/flat_contraction.h"

namespace tartan::poly {

// Maximum number of unrolled points; more would make long code. Empirical.
inline constexpr int64_t kMaxUnrolledPoints = 25;

// Returns true for aggregations of at most kMaxUnrolledPoints points that need not know whether an
// element has a valid point.
bool CanUnroll(const FlatContraction& flat);

// Returns true if the body multiplies two tensors at every point.
bool MultipliesReads(const FlatContraction& flat);

// Returns the kernel without reduced indices. One expression aggregates the values of all points in
// index order, each where its constraints hold. Implied constraints and points that are never valid
// are removed. Requires CanUnroll.
FlatContraction Unroll(const FlatContraction& flat);

}  // namespace tartan::poly
