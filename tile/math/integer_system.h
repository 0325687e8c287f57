// SPDX-License-Identifier: Apache-2.0
// Two-sided linear inequalities over integer variables: merging, bounds and points. Exact integer
// programming by interval propagation and branch and bound, with a limit on the work.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "tile/math/affine.h"

namespace tartan::math {

// Stands for infinity in intervals; finite bounds and coefficients stay below it.
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

// 0 <= poly < range for integer variables, its common factor divided out and its bounds rounded
// inward. A range above 2^58 counts as 2^58. Nothing where numbers leave 60 bits.
std::optional<LinearConstraint> ToLinear(const RangeConstraint& constraint, int variable_count);

// Intersects the constraints that bound the same polynomial or its negative, and drops the constant
// ones; the order and sign of the first of each remain. False when some constraint cannot hold.
bool MergeParallel(std::vector<LinearConstraint>& constraints);

// The values that a polynomial takes, one by one, over a box; unbounded where the box is.
Interval Reach(absl::Span<const int64_t> coefficients, absl::Span<const Interval> box);

// Shrinks `box` to what each constraint alone leaves of it, until nothing changes or a limit is
// met (the box then is valid, only larger). False when no point is left.
bool Propagate(absl::Span<const LinearConstraint> constraints, std::vector<Interval>& box);

enum class Answer { kYes, kNo, kUnknown };

// Whether the bounded box holds an integer point of all constraints, and one in `point`. Every
// visited node takes one from `budget`; kUnknown when it is used up.
Answer FindPoint(absl::Span<const LinearConstraint> constraints, std::vector<Interval> box,
                 int64_t& budget, std::vector<int64_t>& point);

// Makes the intervals of `variables` as small as the integer points in the bounded box allow, or
// leaves them larger where the budget ends. Whether there is a point at all.
Answer TightenBounds(absl::Span<const LinearConstraint> constraints,
                     absl::Span<const int> variables, int64_t& budget, std::vector<Interval>& box);

}  // namespace tartan::math
