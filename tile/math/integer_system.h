// SPDX-License-Identifier: Apache-2.0
// Two-sided linear inequalities over integer variables: merging, bounds and feasible points. Exact
// integer programming by interval propagation and branch and bound, with a work limit.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "tile/math/affine.h"

namespace tartan::math {

// Represents infinity in intervals; finite bounds and coefficients are smaller.
inline constexpr int64_t kUnbounded = int64_t{1} << 60;

struct Interval {
  int64_t min = -kUnbounded;
  int64_t max = kUnbounded;

  bool empty() const { return min > max; }
  bool fixed() const { return min == max; }
  bool bounded() const { return min > -kUnbounded && max < kUnbounded; }
  int64_t size() const { return max - min + 1; }
  bool Contains(const Interval& other) const { return min <= other.min && other.max <= max; }
  bool operator==(const Interval&) const = default;
};

// The value of sum(coefficients[i] * x_i) lies in `interval`.
struct LinearConstraint {
  std::vector<int64_t> coefficients;  // one per variable, without a common factor
  Interval interval;

  bool is_constant() const;
};

// Converts 0 <= poly < range over integer variables: divides by the common factor and rounds the
// bounds inward. Ranges above 2^58 count as 2^58. Nothing if values exceed 60 bits.
std::optional<LinearConstraint> ToLinear(const RangeConstraint& constraint, int variable_count);

// Intersects constraints that bound the same polynomial or its negative, and drops constant ones.
// Keeps the order and sign of the first constraint of each group. False if some constraint is
// infeasible.
bool MergeParallel(std::vector<LinearConstraint>& constraints);

// The interval of values of a polynomial over a box; unbounded if the box is.
Interval Reach(absl::Span<const int64_t> coefficients, absl::Span<const Interval> box);

// Shrinks `box` by each constraint until nothing changes or an iteration limit is reached (the box
// is then valid but larger than necessary). False if no point is left.
bool Propagate(absl::Span<const LinearConstraint> constraints, std::vector<Interval>& box);

enum class Answer { kYes, kNo, kUnknown };

// Searches an integer point of all constraints in the bounded box, and stores it in `point`. Every
// visited node takes one from `budget`; kUnknown when the budget is used up.
Answer FindPoint(absl::Span<const LinearConstraint> constraints, std::vector<Interval> box,
                 int64_t& budget, std::vector<int64_t>& point);

// Makes the intervals of `variables` as small as the integer points in the bounded box allow; they
// stay larger when the budget is used up. Returns whether there is a point at all.
Answer TightenBounds(absl::Span<const LinearConstraint> constraints,
                     absl::Span<const int> variables, int64_t& budget, std::vector<Interval>& box);

}  // namespace tartan::math
