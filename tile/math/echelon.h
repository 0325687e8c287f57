// SPDX-License-Identifier: Apache-2.0
// Exact reduced row echelon form of affine functions.
#pragma once

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "tile/math/affine.h"

namespace tartan::math {

struct Echelon {
  // Linear parts, one coefficient per variable; no zero rows.
  std::vector<std::vector<Rational>> rows;
  // Row i is the sum over j of combinations[i][j] times polynomial j.
  std::vector<std::vector<Rational>> combinations;
  // The pivot variable of row i; it has coefficient 1 there, and does not occur in other rows.
  std::vector<int> pivots;

  // The row that consists of this variable alone; -1 if there is none.
  int RowOf(int variable) const;
};

// The form of the linear parts of affine functions in `count` variables. Nothing on 64-bit
// overflow.
std::optional<Echelon> RowEchelon(absl::Span<const Affine> polys, int count);

}  // namespace tartan::math
