// SPDX-License-Identifier: Apache-2.0
// Enumerates the integer points of a set of two-sided linear conditions. Exact; used by the naive
// evaluator only, so that it shares nothing with the compiler's index mathematics.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/math/affine.h"

namespace tartan::ir {

class IndexScan {
 public:
  // A run of points that differ in the last variable only: it takes the values from `begin` up to
  // but not including `end`; `point` holds the others (its last element is to be ignored).
  using Visit = std::function<absl::Status(absl::Span<int64_t> point, int64_t begin, int64_t end)>;

  // All integer values of the variables (at least one) for which every constraint holds.
  // InvalidArgument names a variable that nothing bounds, and numbers beyond 62 bits.
  static absl::StatusOr<IndexScan> Create(absl::Span<const math::RangeConstraint> constraints,
                                          absl::Span<const std::string> names);

  // Visits every point once, in lexicographic order. ResourceExhausted after `max_points` steps.
  absl::Status ForEachRun(int64_t max_points, const Visit& visit) const;

 private:
  struct Bounds {
    int64_t min;
    int64_t max;
  };
  // 0 <= coefficients * x + constant < range.
  struct Condition {
    std::vector<int64_t> coefficients;
    int64_t constant;
    int64_t range;
  };
  struct Walk;  // the state of one enumeration

  absl::Status AddConstraint(const math::RangeConstraint& constraint);
  // False when the box is empty.
  bool ShrinkBox(absl::Span<const Condition> conditions);
  bool Shrink(const Condition& condition, size_t variable, bool& changed);
  int UnboundedVariable() const;  // -1: none
  // Intervals do not see that i + j and i - j bound i: sums of two conditions in which a variable
  // cancels do, as in Fourier-Motzkin elimination. Cancel gives one, AppendSums appends all.
  static std::optional<Condition> Cancel(const Condition& p, const Condition& q, size_t variable);
  static void AppendSums(std::vector<Condition>& conditions);
  absl::Status Advance(Walk& walk, size_t depth) const;

  std::vector<Condition> conditions_;
  std::vector<Bounds> box_;
  bool is_empty_ = false;
};

}  // namespace tartan::ir
