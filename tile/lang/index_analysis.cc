// SPDX-License-Identifier: Apache-2.0
#include "tile/lang/index_analysis.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "tile/math/echelon.h"
#include "tile/math/integer.h"

namespace tartan::lang {
namespace {

using math::Affine;
using math::Rational;
// Fast path: each variable is alone in some polynomial, so the polynomials determine it without
// solving a system.
bool IsEachAlone(absl::Span<const Affine> polys, int count) {
  std::vector<bool> is_alone(count, false);
  for (const Affine& poly : polys) {
    if (const int variable = poly.single_variable(); variable >= 0) is_alone[variable] = true;
  }
  return std::find(is_alone.begin(), is_alone.end(), false) == is_alone.end();
}

// Returns whether the polynomials determine each variable.
std::vector<bool> FixedVariables(const math::Echelon& echelon, int count) {
  std::vector<bool> fixed;
  for (int i = 0; i < count; ++i) fixed.push_back(echelon.RowOf(i) >= 0);
  return fixed;
}

// The number of values of each variable, if a single constraint determines it.
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

// Like digits of a number: 6*i + 2*j + k with j < 3 and k < 2 determines i, j and k.
bool IsMixedRadix(const Affine& poly, const std::vector<bool>& known,
                  const std::vector<std::optional<int64_t>>& ranges, std::vector<int>* digits) {
  digits->clear();
  for (int i = 0; i < static_cast<int>(known.size()); ++i) {
    if (!known[i] && !poly.coefficient(i).is_zero()) digits->push_back(i);
  }
  std::sort(digits->begin(), digits->end(), [&](int a, int b) {
    return Magnitude(poly.coefficient(a)) < Magnitude(poly.coefficient(b));
  });
  Rational reach = 0;  // maximum total of the smaller digits
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

// True if the output polynomials determine all variables without a search, as in most contractions.
bool OutputDeterminesIndices(absl::Span<const Affine> output,
                             absl::Span<const math::RangeConstraint> bounds, int count) {
  if (IsEachAlone(output, count)) return true;
  std::vector<Affine> equations(output.begin(), output.end());
  for (const math::RangeConstraint& bound : bounds) {
    if (bound.range <= 1) equations.push_back(bound.poly);  // always 0
  }
  const std::optional<math::Echelon> echelon = math::RowEchelon(equations, count);
  if (!echelon.has_value()) return false;
  std::vector<bool> known = FixedVariables(*echelon, count);
  const std::vector<std::optional<int64_t>> ranges = DirectRanges(bounds, count);
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

int64_t CommonDenominator(const Affine& poly) {
  int64_t denominator = poly.constant.denominator();
  for (const Rational& c : poly.coefficients) {
    denominator *= c.denominator() / math::Gcd(denominator, c.denominator());
  }
  return denominator;
}

// Requires the index to be in range and an integer: an index with fractions equals a new variable.
void AddAccess(const Affine& poly, int64_t range, int* variables,
               std::vector<math::RangeConstraint>* ranges) {
  ranges->push_back({poly, range});
  if (poly.is_integer()) return;
  const int64_t denominator = CommonDenominator(poly);
  ranges->push_back({Affine::Variable((*variables)++, denominator) - poly * denominator, 1});
}

// Searches a point within all ranges.
math::Answer FindIn(absl::Span<const math::RangeConstraint> ranges, int variables, int64_t& budget,
                    std::vector<int64_t>& point) {
  std::vector<math::LinearConstraint> linear;
  for (const math::RangeConstraint& range : ranges) {
    std::optional<math::LinearConstraint> converted = math::ToLinear(range, variables);
    if (!converted.has_value()) return math::Answer::kUnknown;
    linear.push_back(*std::move(converted));
  }
  std::vector<math::Interval> box(variables);
  if (!math::MergeParallel(linear) || !math::Propagate(linear, box)) return math::Answer::kNo;
  for (const math::Interval& interval : box) {
    if (!interval.bounded()) return math::Answer::kUnknown;
  }
  return math::FindPoint(linear, box, budget, point);
}

// Pairs of valid points that write one element. Variables 0 … count-1 are the first point, the next
// `count` the second; then follows a variable for each index with fractions.
class PairSpace {
 public:
  PairSpace(absl::Span<const Affine> output, absl::Span<const math::RangeConstraint> accesses,
            absl::Span<const math::RangeConstraint> constraints, int count)
      : count_(count), variables_(2 * count) {
    for (const int point : {0, 1}) {
      for (const math::RangeConstraint& access : accesses) {
        AddAccess(At(access.poly, point), access.range, &variables_, &ranges_);
      }
      for (const math::RangeConstraint& constraint : constraints) {
        ranges_.push_back({At(constraint.poly, point), constraint.range});
      }
    }
    for (const Affine& poly : output) {
      const Affine difference = At(poly, 0) - At(poly, 1);
      ranges_.push_back({difference * CommonDenominator(difference), 1});
    }
  }

  // Searches a pair that first differs in `variable`, where the second point is greater.
  math::Answer Find(int variable, int64_t& budget, Collision& collision) const {
    std::vector<math::RangeConstraint> ranges = ranges_;
    for (int i = 0; i < variable; ++i) ranges.push_back({Difference(i), 1});
    ranges.push_back({Difference(variable) - Affine::Constant(1), math::kUnbounded / 8});
    std::vector<int64_t> point;
    const math::Answer answer = FindIn(ranges, variables_, budget, point);
    if (answer == math::Answer::kYes) {
      collision.first.assign(point.begin(), point.begin() + count_);
      collision.second.assign(point.begin() + count_, point.begin() + 2 * count_);
    }
    return answer;
  }

 private:
  Affine At(const Affine& poly, int point) const {
    std::vector<Affine> map;
    for (int i = 0; i < count_; ++i) map.push_back(Affine::Variable(point * count_ + i));
    return poly.Substitute(map);
  }

  Affine Difference(int i) const { return Affine::Variable(count_ + i) - Affine::Variable(i); }

  int count_;
  int variables_;
  std::vector<math::RangeConstraint> ranges_;
};

}  // namespace

int FindUnboundedIndex(absl::Span<const Affine> bounded, int count) {
  if (IsEachAlone(bounded, count)) return -1;
  const std::optional<math::Echelon> echelon = math::RowEchelon(bounded, count);
  // A 64-bit overflow leaves the question open; the exact bounds computed later decide it.
  if (!echelon.has_value() || static_cast<int>(echelon->rows.size()) == count) return -1;
  const std::vector<bool> fixed = FixedVariables(*echelon, count);
  return static_cast<int>(std::find(fixed.rbegin(), fixed.rend(), false).base() - fixed.begin()) -
         1;
}

math::Answer HasValidPoint(absl::Span<const math::RangeConstraint> accesses,
                           absl::Span<const math::RangeConstraint> constraints, int count) {
  std::vector<math::RangeConstraint> ranges;
  int variables = count;
  for (const math::RangeConstraint& access : accesses) {
    AddAccess(access.poly, access.range, &variables, &ranges);
  }
  ranges.insert(ranges.end(), constraints.begin(), constraints.end());
  int64_t budget = 20000;
  std::vector<int64_t> point;
  return FindIn(ranges, variables, budget, point);
}

math::Answer FindCollision(absl::Span<const Affine> output,
                           absl::Span<const math::RangeConstraint> accesses,
                           absl::Span<const math::RangeConstraint> constraints, int count,
                           Collision& collision) {
  std::vector<math::RangeConstraint> bounds(accesses.begin(), accesses.end());
  bounds.insert(bounds.end(), constraints.begin(), constraints.end());
  if (OutputDeterminesIndices(output, bounds, count)) return math::Answer::kNo;
  constexpr int64_t kBudget = 20000;
  int64_t budget = kBudget;
  const PairSpace pairs(output, accesses, constraints, count);
  math::Answer answer = math::Answer::kNo;
  for (int i = 0; i < count && answer != math::Answer::kYes; ++i) {
    const math::Answer here = pairs.Find(i, budget, collision);
    if (here != math::Answer::kNo) answer = here;
  }
  return answer;
}

}  // namespace tartan::lang
