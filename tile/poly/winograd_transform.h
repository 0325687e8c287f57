// SPDX-License-Identifier: Apache-2.0
// Transform matrices of minimal filtering (Toom and Cook; Winograd; Lavin and Gray, "Fast
// Algorithms for Convolutional Neural Networks"). A short one-dimensional correlation becomes
// transforms of both operands, elementwise multiplication, and an inverse transform.
#pragma once

#include <cstdint>
#include <vector>

#include "tile/poly/flat_contraction.h"

namespace tartan::poly {

// One row per result, one column per operand.
using TransformMatrix = std::vector<std::vector<math::Rational>>;

// y = result (data d ∘ weights g), with `tile` outputs y, tile + window - 1 data values d and
// `window` weights g.
struct FilterTransforms {
  TransformMatrix data;
  TransformMatrix weights;
  TransformMatrix result;

  int64_t points() const { return static_cast<int64_t>(data.size()); }
};

// Returns the transforms for windows of 3 and tiles of 2 (interpolation points 0, 1, -1, infinity)
// or 4 (0, ±3/4, ±3/2, infinity). The latter points have about a quarter of the error of 0, ±1, ±2.
FilterTransforms MakeFilterTransforms(int64_t tile);

// Applies the matrix to the columns of `operands` and then to the rows; common subexpressions are
// shared. columns * columns operands in row-major order give rows * rows results.
std::vector<ExprPtr> TransformTile(const TransformMatrix& matrix,
                                   const std::vector<ExprPtr>& operands);

}  // namespace tartan::poly
