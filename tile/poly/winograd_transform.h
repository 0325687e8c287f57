// SPDX-License-Identifier: Apache-2.0
// The matrices of minimal filtering: outputs of a one-dimensional correlation with a short window
// as transforms of both operands, products point by point, and a transform back (Toom and Cook;
// Winograd; Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks").
#pragma once

#include <cstdint>
#include <vector>

#include "tile/poly/flat_contraction.h"

namespace tartan::poly {

// One row per result, one column per operand.
using TransformMatrix = std::vector<std::vector<math::Rational>>;

// y = result (data d ∘ weights g), for `tile` outputs y, tile + window - 1 data d, `window`
// weights g.
struct FilterTransforms {
  TransformMatrix data;
  TransformMatrix weights;
  TransformMatrix result;

  int64_t points() const { return static_cast<int64_t>(data.size()); }
};

// Tiles of 2 (from the points 0, 1, -1 and infinity) or 4 (0, ±3/4, ±3/2 and infinity, of which the
// errors are about a quarter of those of 0, ±1, ±2) for windows of 3.
FilterTransforms MakeFilterTransforms(int64_t tile);

// The matrix applied to the columns of `operands` and then to the rows, as sums that share what
// they have in common: columns * columns operands in row-major order give rows * rows results.
std::vector<ExprPtr> TransformTile(const TransformMatrix& matrix,
                                   const std::vector<ExprPtr>& operands);

}  // namespace tartan::poly
