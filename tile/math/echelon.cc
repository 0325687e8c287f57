// SPDX-License-Identifier: Apache-2.0
#include "tile/math/echelon.h"

#include <algorithm>
#include <utility>

namespace tartan::math {
namespace {

using Row = std::vector<Rational>;

// row += factor * other.
void AddMultiple(Row& row, const Rational& factor, const Row& other) {
  for (size_t i = 0; i < row.size(); ++i) row[i] = row[i] + factor * other[i];
}

void Scale(Row& row, const Rational& factor) {
  for (Rational& x : row) x = x * factor;
}

bool AllValid(const std::vector<Row>& rows) {
  return std::all_of(rows.begin(), rows.end(), [](const Row& row) {
    return std::all_of(row.begin(), row.end(), [](const Rational& x) { return x.valid(); });
  });
}

}  // namespace

int Echelon::RowOf(int variable) const {
  for (size_t r = 0; r < rows.size(); ++r) {
    if (pivots[r] != variable) continue;
    const auto used = std::count_if(rows[r].begin(), rows[r].end(),
                                    [](const Rational& x) { return !x.is_zero(); });
    return used == 1 ? static_cast<int>(r) : -1;
  }
  return -1;
}

// Gauss-Jordan elimination. `combinations` starts as the identity and undergoes the same row
// operations.
std::optional<Echelon> RowEchelon(absl::Span<const Affine> polys, int count) {
  Echelon echelon;
  for (size_t p = 0; p < polys.size(); ++p) {
    Row row;
    for (int i = 0; i < count; ++i) row.push_back(polys[p].coefficient(i));
    echelon.rows.push_back(std::move(row));
    echelon.combinations.emplace_back(polys.size());
    echelon.combinations.back()[p] = Rational(1);
  }
  std::vector<Row>& rows = echelon.rows;
  std::vector<Row>& combinations = echelon.combinations;
  for (int column = 0; column < count; ++column) {
    const size_t rank = echelon.pivots.size();
    size_t pivot = rank;
    while (pivot < rows.size() && rows[pivot][column].is_zero()) ++pivot;
    if (pivot == rows.size()) continue;
    std::swap(rows[rank], rows[pivot]);
    std::swap(combinations[rank], combinations[pivot]);
    const Rational scale = Rational(1) / rows[rank][column];
    Scale(rows[rank], scale);
    Scale(combinations[rank], scale);
    for (size_t r = 0; r < rows.size(); ++r) {
      const Rational factor = -rows[r][column];
      if (r == rank || factor.is_zero()) continue;
      AddMultiple(rows[r], factor, rows[rank]);
      AddMultiple(combinations[r], factor, combinations[rank]);
    }
    echelon.pivots.push_back(column);
    if (!AllValid(rows) || !AllValid(combinations)) return std::nullopt;
  }
  rows.resize(echelon.pivots.size());
  combinations.resize(echelon.pivots.size());
  return echelon;
}

}  // namespace tartan::math
