// SPDX-License-Identifier: Apache-2.0
#include "tile/ir/index_scan.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"
#include "tile/math/integer.h"

namespace tartan::ir {
namespace {

using Wide = __int128;

// Represents "no bound"; finite values are smaller in magnitude.
constexpr int64_t kInfinite = int64_t{1} << 62;

bool Fits(Wide value) { return value > -kInfinite && value < kInfinite; }
int64_t Clamp(Wide value) {
  return static_cast<int64_t>(std::clamp<Wide>(value, -kInfinite, kInfinite));
}

Wide FloorDivide(Wide a, Wide b) {
  const Wide quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
Wide CeilDivide(Wide a, Wide b) { return -FloorDivide(-a, b); }

// The minimum of coefficient * x for x in [min, max]; nothing if it is infinite.
std::optional<Wide> LeastTerm(int64_t coefficient, int64_t min, int64_t max) {
  const int64_t x = coefficient > 0 ? min : max;
  if (x <= -kInfinite || x >= kInfinite) return std::nullopt;
  return Wide{coefficient} * x;
}
std::optional<Wide> GreatestTerm(int64_t coefficient, int64_t min, int64_t max) {
  const int64_t x = coefficient > 0 ? max : min;
  if (x <= -kInfinite || x >= kInfinite) return std::nullopt;
  return Wide{coefficient} * x;
}

}  // namespace

absl::Status IndexScan::AddConstraint(const math::RangeConstraint& constraint) {
  const math::Affine& poly = constraint.poly;
  Wide denominator = poly.constant.denominator();
  for (const math::Rational& c : poly.coefficients) {
    denominator *= c.denominator() / math::Gcd(static_cast<int64_t>(denominator), c.denominator());
    if (!Fits(denominator)) return absl::InvalidArgumentError("an index polynomial is too large");
  }
  const auto scaled = [&](const math::Rational& value) {
    return Wide{value.numerator()} * (denominator / value.denominator());
  };
  bool fits = Fits(scaled(poly.constant)) && Fits(constraint.range * denominator);
  Condition condition{std::vector<int64_t>(box_.size()), Clamp(scaled(poly.constant)),
                      Clamp(constraint.range * denominator)};
  for (size_t i = 0; i < poly.coefficients.size() && i < box_.size(); ++i) {
    fits = fits && Fits(scaled(poly.coefficients[i]));
    condition.coefficients[i] = Clamp(scaled(poly.coefficients[i]));
  }
  if (!fits) return absl::InvalidArgumentError("an index polynomial is too large");
  conditions_.push_back(std::move(condition));
  return absl::OkStatus();
}

bool IndexScan::Shrink(const Condition& condition, size_t variable, bool& changed) {
  const int64_t own = condition.coefficients[variable];
  std::optional<Wide> least = condition.constant;
  std::optional<Wide> greatest = condition.constant;
  for (size_t j = 0; j < box_.size(); ++j) {
    const int64_t c = condition.coefficients[j];
    if (j == variable || c == 0) continue;
    const auto low = LeastTerm(c, box_[j].min, box_[j].max);
    const auto high = GreatestTerm(c, box_[j].min, box_[j].max);
    if (least) least = low ? std::optional<Wide>(*least + *low) : std::nullopt;
    if (greatest) greatest = high ? std::optional<Wide>(*greatest + *high) : std::nullopt;
  }
  // The bounds of own * x are -greatest and range - 1 - least.
  Bounds& bounds = box_[variable];
  const auto raise = [&](Wide value) {
    if (value > bounds.min) bounds.min = Clamp(value), changed = true;
  };
  const auto lower = [&](Wide value) {
    if (value < bounds.max) bounds.max = Clamp(value), changed = true;
  };
  if (greatest) {
    own > 0 ? raise(CeilDivide(-*greatest, own)) : lower(FloorDivide(-*greatest, own));
  }
  if (least) {
    const Wide most = condition.range - 1 - *least;
    own > 0 ? lower(FloorDivide(most, own)) : raise(CeilDivide(most, own));
  }
  return bounds.min <= bounds.max;
}

bool IndexScan::ShrinkBox(absl::Span<const Condition> conditions) {
  // Any box that contains the points suffices, so that slow convergence may be cut off.
  constexpr int kRounds = 64;
  bool changed = true;
  for (int round = 0; round < kRounds && changed; ++round) {
    changed = false;
    for (const Condition& condition : conditions) {
      for (size_t i = 0; i < box_.size(); ++i) {
        if (condition.coefficients[i] != 0 && !Shrink(condition, i, changed)) return false;
      }
    }
  }
  return true;
}

int IndexScan::UnboundedVariable() const {
  for (size_t i = 0; i < box_.size(); ++i) {
    if (box_[i].min <= -kInfinite || box_[i].max >= kInfinite) return static_cast<int>(i);
  }
  return -1;
}

std::optional<IndexScan::Condition> IndexScan::Cancel(const Condition& p, const Condition& q,
                                                      size_t variable) {
  const Wide a = q.coefficients[variable];
  const Wide b = -Wide{p.coefficients[variable]};
  if (a == 0 || b == 0) return std::nullopt;
  const Wide p_reach = a * (p.range - 1);
  const Wide q_reach = b * (q.range - 1);
  const Wide low = std::min<Wide>(p_reach, 0) + std::min<Wide>(q_reach, 0);
  const Wide high = std::max<Wide>(p_reach, 0) + std::max<Wide>(q_reach, 0);
  const Wide constant = a * p.constant + b * q.constant - low;
  const Wide range = high - low + 1;
  Condition sum{std::vector<int64_t>(p.coefficients.size()), Clamp(constant), Clamp(range)};
  bool fits = Fits(constant) && Fits(range);
  for (size_t j = 0; j < sum.coefficients.size(); ++j) {
    const Wide coefficient = a * p.coefficients[j] + b * q.coefficients[j];
    fits = fits && Fits(coefficient);
    sum.coefficients[j] = Clamp(coefficient);
  }
  if (!fits) return std::nullopt;
  return sum;
}

void IndexScan::AppendSums(std::vector<Condition>& conditions) {
  const size_t count = conditions.size();
  for (size_t p = 0; p < count; ++p) {
    for (size_t q = p + 1; q < count; ++q) {
      for (size_t i = 0; i < conditions[p].coefficients.size(); ++i) {
        if (auto sum = Cancel(conditions[p], conditions[q], i)) {
          conditions.push_back(*std::move(sum));
        }
      }
    }
  }
}

absl::StatusOr<IndexScan> IndexScan::Create(absl::Span<const math::RangeConstraint> constraints,
                                            absl::Span<const std::string> names) {
  IndexScan scan;
  scan.box_.assign(names.size(), {-kInfinite, kInfinite});
  for (const math::RangeConstraint& constraint : constraints) {
    if (constraint.range <= 0) scan.is_empty_ = true;
    TARTAN_RETURN_IF_ERROR(scan.AddConstraint(constraint));
  }
  for (const Condition& c : scan.conditions_) {
    const bool is_constant =
        std::all_of(c.coefficients.begin(), c.coefficients.end(), [](int64_t x) { return x == 0; });
    if (is_constant && (c.constant < 0 || c.constant >= c.range)) scan.is_empty_ = true;
  }
  if (scan.is_empty_) return scan;

  constexpr size_t kMaxConditions = 400;
  std::vector<Condition> derived = scan.conditions_;
  for (;;) {
    if (!scan.ShrinkBox(derived)) {
      scan.is_empty_ = true;
      return scan;
    }
    const int unbounded = scan.UnboundedVariable();
    if (unbounded < 0) return scan;
    const size_t count = derived.size();
    if (count < kMaxConditions) AppendSums(derived);
    if (derived.size() == count) {
      return absl::InvalidArgumentError(
          absl::StrCat("index variable '", names[unbounded], "' has no bound"));
    }
  }
}

struct IndexScan::Walk {
  const Visit& visit;
  int64_t steps_left;
  std::vector<int64_t> point;
  // Per recursion level and condition: the value of the outer variables, and the minimum and
  // maximum that the inner variables add.
  std::vector<std::vector<Wide>> prefix;
  std::vector<std::vector<Wide>> least_rest;
  std::vector<std::vector<Wide>> greatest_rest;
};

absl::Status IndexScan::Advance(Walk& walk, size_t depth) const {
  const std::vector<Wide>& prefix = walk.prefix[depth];
  Wide begin = box_[depth].min;
  Wide last = box_[depth].max;
  for (size_t c = 0; c < conditions_.size(); ++c) {
    const Wide own = conditions_[c].coefficients[depth];
    if (own == 0) continue;
    const Wide least = -prefix[c] - walk.greatest_rest[depth][c];
    const Wide most = conditions_[c].range - 1 - prefix[c] - walk.least_rest[depth][c];
    begin = std::max(begin, CeilDivide(own > 0 ? least : most, own));
    last = std::min(last, FloorDivide(own > 0 ? most : least, own));
  }
  if (begin > last) return absl::OkStatus();
  walk.steps_left -= static_cast<int64_t>(last - begin + 1);
  if (walk.steps_left < 0) {
    return absl::ResourceExhaustedError("a contraction visits too many index points");
  }
  if (depth + 1 == box_.size()) {
    return walk.visit(absl::MakeSpan(walk.point), static_cast<int64_t>(begin),
                      static_cast<int64_t>(last) + 1);
  }
  for (Wide x = begin; x <= last; ++x) {
    walk.point[depth] = static_cast<int64_t>(x);
    for (size_t c = 0; c < conditions_.size(); ++c) {
      walk.prefix[depth + 1][c] = prefix[c] + x * conditions_[c].coefficients[depth];
    }
    TARTAN_RETURN_IF_ERROR(Advance(walk, depth + 1));
  }
  return absl::OkStatus();
}

absl::Status IndexScan::ForEachRun(int64_t max_points, const Visit& visit) const {
  if (is_empty_) return absl::OkStatus();
  const std::vector<Wide> zeros(conditions_.size());
  const std::vector<std::vector<Wide>> per_depth(box_.size(), zeros);
  Walk walk{visit, max_points, std::vector<int64_t>(box_.size()), per_depth, per_depth, per_depth};
  for (size_t c = 0; c < conditions_.size(); ++c) {
    walk.prefix[0][c] = conditions_[c].constant;
    for (size_t depth = box_.size() - 1; depth > 0; --depth) {
      const int64_t coefficient = conditions_[c].coefficients[depth];
      const auto [min, max] = box_[depth];
      const Wide a = Wide{coefficient} * min;
      const Wide b = Wide{coefficient} * max;
      walk.least_rest[depth - 1][c] = walk.least_rest[depth][c] + std::min(a, b);
      walk.greatest_rest[depth - 1][c] = walk.greatest_rest[depth][c] + std::max(a, b);
    }
  }
  return Advance(walk, 0);
}

}  // namespace tartan::ir
