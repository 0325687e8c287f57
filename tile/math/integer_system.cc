// SPDX-License-Identifier: Apache-2.0
#include "tile/math/integer_system.h"

#include <algorithm>
#include <numeric>

#include "tile/math/integer.h"

namespace tartan::math {
namespace {

__extension__ using Int128 = __int128;

constexpr int64_t kMaxRange = int64_t{1} << 58;
constexpr int kMaxRounds = 64;

bool IsSmall(const Rational& value) {
  return value.valid() && value.numerator() > -kMaxRange * 2 && value.numerator() < kMaxRange * 2 &&
         value.denominator() < kMaxRange;
}

Int128 FloorDiv128(Int128 a, Int128 b) { return a / b - (a % b < 0 ? 1 : 0); }
Int128 CeilDiv128(Int128 a, Int128 b) { return a / b + (a % b > 0 ? 1 : 0); }

int64_t Clamp(Int128 value) {
  if (value <= -kUnbounded) return -kUnbounded;
  if (value >= kUnbounded) return kUnbounded;
  return static_cast<int64_t>(value);
}

// A sum of interval ends: the total of the finite ones, and the number of infinite ones.
struct Sum {
  Int128 finite = 0;
  int infinite = 0;

  void Add(int64_t coefficient, int64_t end) {
    if (end <= -kUnbounded || end >= kUnbounded) {
      ++infinite;
    } else {
      finite += Int128{coefficient} * end;
    }
  }
};

// The ends of the interval of x at which coefficient * x is minimal and maximal.
int64_t LowEnd(int64_t coefficient, const Interval& x) { return coefficient > 0 ? x.min : x.max; }
int64_t HighEnd(int64_t coefficient, const Interval& x) { return coefficient > 0 ? x.max : x.min; }

struct Sums {
  Sum low, high;
};

Sums SumsOver(absl::Span<const int64_t> coefficients, absl::Span<const Interval> box) {
  Sums sums;
  for (size_t i = 0; i < coefficients.size(); ++i) {
    if (coefficients[i] == 0) continue;
    sums.low.Add(coefficients[i], LowEnd(coefficients[i], box[i]));
    sums.high.Add(coefficients[i], HighEnd(coefficients[i], box[i]));
  }
  return sums;
}

// The sum without the term of `coefficient` and `end`, if the rest is finite.
std::optional<Int128> Without(Sum sum, int64_t coefficient, int64_t end) {
  Sum term;
  term.Add(coefficient, end);
  if (sum.infinite != term.infinite) return std::nullopt;
  return sum.finite - term.finite;
}

// The interval of x_i that satisfies the constraint, given the sums over all variables.
Interval Narrowed(const LinearConstraint& constraint, const Sums& sums, size_t i, Interval x) {
  int64_t c = constraint.coefficients[i];
  Int128 size = c > 0 ? c : -Int128{c};
  std::optional<Int128> rest_low = Without(sums.low, c, LowEnd(c, x));
  std::optional<Int128> rest_high = Without(sums.high, c, HighEnd(c, x));
  // low <= c * x <= high; a bound exists only if the rest of the sum has one.
  std::optional<Int128> high, low;
  if (rest_low && constraint.interval.max < kUnbounded) high = constraint.interval.max - *rest_low;
  if (rest_high && constraint.interval.min > -kUnbounded)
    low = constraint.interval.min - *rest_high;
  if (c < 0) {
    std::swap(low, high);
    if (low) low = -*low;
    if (high) high = -*high;
  }
  if (low) x.min = std::max(x.min, Clamp(CeilDiv128(*low, size)));
  if (high) x.max = std::min(x.max, Clamp(FloorDiv128(*high, size)));
  return x;
}

class PointSearch {
 public:
  PointSearch(absl::Span<const LinearConstraint> constraints, int64_t& budget)
      : constraints_(constraints), budget_(budget) {}

  // Branches on the narrowest open interval: first its middle value, then the values below and
  // above it.
  Answer Find(std::vector<Interval> box, std::vector<int64_t>& point) {
    if (--budget_ < 0) return Answer::kUnknown;
    if (!Propagate(constraints_, box)) return Answer::kNo;
    int branch = NarrowestOpen(box);
    if (branch < 0) return Check(box, point);
    Interval whole = box[branch];
    int64_t middle = whole.min + (whole.max - whole.min) / 2;
    Answer answer = Answer::kNo;
    for (Interval part : {Interval{middle, middle}, Interval{whole.min, middle - 1},
                          Interval{middle + 1, whole.max}}) {
      if (part.empty()) continue;
      box[branch] = part;
      Answer found = Find(box, point);
      if (found == Answer::kYes) return found;
      if (found == Answer::kUnknown) answer = found;
    }
    return answer;
  }

 private:
  static int NarrowestOpen(const std::vector<Interval>& box) {
    int best = -1;
    for (size_t i = 0; i < box.size(); ++i) {
      if (box[i].fixed()) continue;
      if (best < 0 || box[i].size() < box[best].size()) best = static_cast<int>(i);
    }
    return best;
  }

  Answer Check(const std::vector<Interval>& box, std::vector<int64_t>& point) const {
    for (const LinearConstraint& constraint : constraints_) {
      if (!constraint.interval.Contains(Reach(constraint.coefficients, box))) return Answer::kNo;
    }
    point.clear();
    for (const Interval& x : box) point.push_back(x.min);
    return Answer::kYes;
  }

  absl::Span<const LinearConstraint> constraints_;
  int64_t& budget_;
};

bool OpenTogetherWithOthers(absl::Span<const LinearConstraint> constraints, int variable) {
  return std::any_of(constraints.begin(), constraints.end(), [&](const LinearConstraint& c) {
    return c.coefficients[variable] != 0 &&
           std::count(c.coefficients.begin(), c.coefficients.end(), 0) + 1 <
               static_cast<std::ptrdiff_t>(c.coefficients.size());
  });
}

}  // namespace

bool LinearConstraint::is_constant() const {
  return std::all_of(coefficients.begin(), coefficients.end(), [](int64_t c) { return c == 0; });
}

std::optional<LinearConstraint> ToLinear(const RangeConstraint& constraint, int variable_count) {
  if (!constraint.poly.valid()) return std::nullopt;
  // scale * poly has integer coefficients, and scale * constant is rounded inward.
  Int128 scale = 1;
  for (const Rational& c : constraint.poly.coefficients) {
    scale *= c.denominator() / Gcd(static_cast<int64_t>(scale), c.denominator());
    if (scale >= kMaxRange) return std::nullopt;
  }
  Rational factor(static_cast<int64_t>(scale));
  LinearConstraint result;
  result.coefficients.resize(variable_count);
  int64_t gcd = 0;
  for (int i = 0; i < variable_count; ++i) {
    Rational c = constraint.poly.coefficient(i) * factor;
    if (!IsSmall(c)) return std::nullopt;
    result.coefficients[i] = c.numerator();
    gcd = Gcd(gcd, c.numerator());
  }
  if (gcd == 0) gcd = 1;
  for (int64_t& c : result.coefficients) c /= gcd;
  Rational unit = factor / Rational(gcd);
  int64_t range = std::min(constraint.range, kMaxRange);
  Rational low = -constraint.poly.constant * unit;
  Rational end = (Rational(range) - constraint.poly.constant) * unit;  // exclusive
  if (!IsSmall(low) || !IsSmall(end)) return std::nullopt;
  result.interval = {low.Ceil(), end.Ceil() - 1};
  return result;
}

bool MergeParallel(std::vector<LinearConstraint>& constraints) {
  std::vector<LinearConstraint> merged;
  for (LinearConstraint& next : constraints) {
    if (next.interval.empty()) return false;
    if (next.is_constant()) {
      if (!next.interval.Contains({0, 0})) return false;
      continue;
    }
    bool found = false;
    for (LinearConstraint& old : merged) {
      bool same = old.coefficients == next.coefficients;
      bool opposite = !same && std::equal(old.coefficients.begin(), old.coefficients.end(),
                                          next.coefficients.begin(),
                                          [](int64_t a, int64_t b) { return a == -b; });
      if (!same && !opposite) continue;
      Interval other = same ? next.interval : Interval{-next.interval.max, -next.interval.min};
      old.interval.min = std::max(old.interval.min, other.min);
      old.interval.max = std::min(old.interval.max, other.max);
      if (old.interval.empty()) return false;
      found = true;
      break;
    }
    if (!found) merged.push_back(std::move(next));
  }
  constraints = std::move(merged);
  return true;
}

Interval Reach(absl::Span<const int64_t> coefficients, absl::Span<const Interval> box) {
  Sums sums = SumsOver(coefficients, box);
  return {sums.low.infinite > 0 ? -kUnbounded : Clamp(sums.low.finite),
          sums.high.infinite > 0 ? kUnbounded : Clamp(sums.high.finite)};
}

bool Propagate(absl::Span<const LinearConstraint> constraints, std::vector<Interval>& box) {
  for (const Interval& x : box) {
    if (x.empty()) return false;
  }
  bool changed = true;
  for (int round = 0; changed && round < kMaxRounds; ++round) {
    changed = false;
    for (const LinearConstraint& constraint : constraints) {
      Sums sums = SumsOver(constraint.coefficients, box);
      for (size_t i = 0; i < constraint.coefficients.size(); ++i) {
        if (constraint.coefficients[i] == 0) continue;
        Interval narrowed = Narrowed(constraint, sums, i, box[i]);
        if (narrowed == box[i]) continue;
        if (narrowed.empty()) return false;
        box[i] = narrowed;
        sums = SumsOver(constraint.coefficients, box);
        changed = true;
      }
    }
  }
  return true;
}

Answer FindPoint(absl::Span<const LinearConstraint> constraints, std::vector<Interval> box,
                 int64_t& budget, std::vector<int64_t>& point) {
  return PointSearch(constraints, budget).Find(std::move(box), point);
}

Answer TightenBounds(absl::Span<const LinearConstraint> constraints,
                     absl::Span<const int> variables, int64_t& budget, std::vector<Interval>& box) {
  if (!Propagate(constraints, box)) return Answer::kNo;
  std::vector<int64_t> witness;
  Answer any = FindPoint(constraints, box, budget, witness);
  if (any != Answer::kYes) return any;
  for (int variable : variables) {
    // For a variable that shares no constraint with another one, propagation is exact.
    if (box[variable].fixed() || !OpenTogetherWithOthers(constraints, variable)) continue;
    for (bool upper : {false, true}) {
      // The exact bound is between `limit` and `reached`, inclusive; try the limit first.
      int64_t limit = upper ? box[variable].max : box[variable].min;
      int64_t reached = witness[variable];
      int64_t probe = limit;
      while (limit != reached) {
        std::vector<Interval> part = box;
        part[variable] = upper ? Interval{probe, limit} : Interval{limit, probe};
        std::vector<int64_t> point;
        Answer answer = FindPoint(constraints, std::move(part), budget, point);
        if (answer == Answer::kUnknown) break;
        if (answer == Answer::kYes) {
          reached = point[variable];
        } else {
          limit = upper ? probe - 1 : probe + 1;
        }
        probe = limit + (reached - limit) / 2;
      }
      (upper ? box[variable].max : box[variable].min) = limit;
    }
  }
  return Answer::kYes;
}

}  // namespace tartan::math
