#include "tile/lang/index_analysis.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace tartan::lang {
namespace {

using math::Affine;
using math::Rational;
using Row = std::vector<Rational>;

// The linear parts of the polynomials in reduced row echelon form, without zero rows.
std::vector<Row> RowEchelon(absl::Span<const Affine> polys, int count) {
  std::vector<Row> rows;
  for (const Affine& poly : polys) {
    Row row;
    for (int i = 0; i < count; ++i) row.push_back(poly.coefficient(i));
    rows.push_back(std::move(row));
  }
  size_t rank = 0;
  for (int column = 0; column < count && rank < rows.size(); ++column) {
    size_t pivot = rank;
    while (pivot < rows.size() && rows[pivot][column].is_zero()) ++pivot;
    if (pivot == rows.size()) continue;
    std::swap(rows[rank], rows[pivot]);
    const Rational scale = Rational(1) / rows[rank][column];
    for (Rational& x : rows[rank]) x = x * scale;
    for (size_t r = 0; r < rows.size(); ++r) {
      const Rational factor = rows[r][column];
      if (r == rank || factor.is_zero()) continue;
      for (int c = 0; c < count; ++c) rows[r][c] = rows[r][c] - factor * rows[rank][c];
    }
    ++rank;
  }
  rows.resize(rank);
  return rows;
}

// The only variable of each row that has just one.
std::vector<bool> FixedVariables(const std::vector<Row>& echelon, int count) {
  std::vector<bool> fixed(count, false);
  for (const Row& row : echelon) {
    int last = -1;
    int used = 0;
    for (int i = 0; i < count; ++i) {
      if (row[i].is_zero()) continue;
      last = i;
      ++used;
    }
    if (used == 1) fixed[last] = true;
  }
  return fixed;
}

// How many values each variable takes, where a constraint says so directly.
std::vector<std::optional<int64_t>> DirectRanges(
    absl::Span<const math::RangeConstraint> constraints, int count) {
  std::vector<std::optional<int64_t>> ranges(count);
  for (const math::RangeConstraint& constraint : constraints) {
    const int variable = constraint.poly.single_variable();
    if (variable < 0) continue;
    const Rational scale = constraint.poly.coefficient(variable);
    if (scale != Rational(1) && scale != Rational(-1)) continue;
    std::optional<int64_t>& range = ranges[variable];
    range = std::min(range.value_or(constraint.range), constraint.range);
  }
  return ranges;
}

Rational Magnitude(const Rational& x) { return x < Rational(0) ? -x : x; }

// Like the digits of a number: 6*i + 2*j + k with j < 3 and k < 2 tells i, j and k.
bool IsMixedRadix(const Affine& poly, const std::vector<bool>& known,
                  const std::vector<std::optional<int64_t>>& ranges, std::vector<int>* digits) {
  digits->clear();
  for (int i = 0; i < static_cast<int>(known.size()); ++i) {
    if (!known[i] && !poly.coefficient(i).is_zero()) digits->push_back(i);
  }
  std::sort(digits->begin(), digits->end(), [&](int a, int b) {
    return Magnitude(poly.coefficient(a)) < Magnitude(poly.coefficient(b));
  });
  Rational reach = 0;  // the most that the smaller digits add up to
  for (size_t d = 0; d < digits->size(); ++d) {
    const int variable = (*digits)[d];
    const Rational weight = Magnitude(poly.coefficient(variable));
    if (!(reach < weight)) return false;
    if (d + 1 == digits->size()) break;  // the largest digit may be unbounded
    if (!ranges[variable].has_value()) return false;
    reach = reach + weight * Rational(std::max<int64_t>(*ranges[variable] - 1, 0));
    if (!reach.valid()) return false;
  }
  return true;
}

bool AllValid(const std::vector<Row>& rows) {
  return std::all_of(rows.begin(), rows.end(), [](const Row& row) {
    return std::all_of(row.begin(), row.end(), [](const Rational& x) { return x.valid(); });
  });
}

}  // namespace

int FindUnboundedIndex(absl::Span<const Affine> bounded, int count) {
  const std::vector<Row> echelon = RowEchelon(bounded, count);
  // Beyond 64 bits there is no answer here; the exact bounds computed later decide.
  if (static_cast<int>(echelon.size()) == count || !AllValid(echelon)) return -1;
  const std::vector<bool> fixed = FixedVariables(echelon, count);
  return static_cast<int>(std::find(fixed.rbegin(), fixed.rend(), false).base() - fixed.begin()) -
         1;
}

bool OutputDeterminesIndices(absl::Span<const Affine> output,
                             absl::Span<const math::RangeConstraint> constraints, int count) {
  std::vector<Affine> equations(output.begin(), output.end());
  for (const math::RangeConstraint& constraint : constraints) {
    if (constraint.range <= 1) equations.push_back(constraint.poly);  // always 0
  }
  const std::vector<Row> echelon = RowEchelon(equations, count);
  if (!AllValid(echelon)) return false;
  std::vector<bool> known = FixedVariables(echelon, count);
  const std::vector<std::optional<int64_t>> ranges = DirectRanges(constraints, count);
  std::vector<int> digits;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Affine& poly : output) {
      if (!IsMixedRadix(poly, known, ranges, &digits)) continue;
      for (const int variable : digits) known[variable] = changed = true;
    }
  }
  return std::find(known.begin(), known.end(), false) == known.end();
}

}  // namespace tartan::lang
