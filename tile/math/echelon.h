// SPDX-License-Identifier: Apache-2.0
// Linear polynomials in reduced row echelon form, exactly.
#pragma once

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "tile/math/affine.h"

namespace tartan::math {

struct Echelon {
  // Linear parts, one coefficient per variable; without zero rows.
  std::vector<std::vector<Rational>> rows;
  // Row i is the sum over j of combinations[i][j] times polynomial j.
  std::vector<std::vector<Rational>> combinations;
  // The variable with which row i begins, with coefficient 1; it is in no other row.
  std::vector<int> pivots;

  // The row that is this variable alone, -1 where there is none.
  int RowOf(int variable) const;
};

// Of the linear parts of polynomials in `count` variables. Nothing where numbers leave 64 bits.
std::optional<Echelon> RowEchelon(absl::Span<const Affine> polys, int count);

}  // namespace tartan::math
