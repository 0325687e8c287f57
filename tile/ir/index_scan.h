// SPDX-License-Identifier: Apache-2.0
// Enumerates the integer points of two-sided linear conditions. Exact; used only by the naive
// evaluator, so that it is independent of the compiler's index analysis.
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
  // Visits a contiguous range of points that differ only in the last variable, which takes the
  // values from `begin` to `end` - 1. `point` has the other variables; its last element is
  // undefined.
  using Visit = std::function<absl::Status(absl::Span<int64_t> point, int64_t begin, int64_t end)>;

  // All integer points that satisfy every constraint; requires one or more variables.
  // InvalidArgument, naming the variable, if one is unbounded; also for values beyond 62 bits.
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
  // False if the box is empty.
  bool ShrinkBox(absl::Span<const Condition> conditions);
  bool Shrink(const Condition& condition, size_t variable, bool& changed);
  int UnboundedVariable() const;  // -1: none
  // Interval propagation misses that i + j and i - j bound i. Sums of two conditions that cancel a
  // variable find such bounds, as in Fourier-Motzkin elimination. Cancel computes one such sum,
  // AppendSums all of them.
  static std::optional<Condition> Cancel(const Condition& p, const Condition& q, size_t variable);
  static void AppendSums(std::vector<Condition>& conditions);
  absl::Status Advance(Walk& walk, size_t depth) const;

  std::vector<Condition> conditions_;
  std::vector<Bounds> box_;
  bool is_empty_ = false;
};

}  // namespace tartan::ir
