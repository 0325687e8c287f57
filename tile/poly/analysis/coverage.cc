// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/analysis/coverage.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "tile/math/integer_system.h"

namespace tartan::poly {
namespace {

using math::Answer;
using math::Interval;
using math::LinearConstraint;

// Maximum number of output points of a component to try one by one. Empirical.
constexpr int64_t kMaxOutputPoints = 512;
// Maximum number of nodes of all searches. Empirical.
constexpr int64_t kBudget = 4096;

// Constraints that share indices with each other only.
struct Component {
  std::vector<int> outputs;
  std::vector<LinearConstraint> guards, constraints;
};

class Components {
 public:
  explicit Components(int index_count) : parent_(index_count) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  int Find(int i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  // Merges the indices of a constraint; returns one of them, or -1 if it has none.
  int Join(const LinearConstraint& constraint) {
    int first = -1;
    for (size_t i = 0; i < constraint.coefficients.size(); ++i) {
      if (constraint.coefficients[i] == 0) continue;
      if (first < 0) first = static_cast<int>(i);
      parent_[Find(static_cast<int>(i))] = Find(first);
    }
    return first;
  }

 private:
  std::vector<int> parent_;
};

// Returns the interval that remains for the reduced part for all values of the output indices.
Interval LeftForReduced(const LinearConstraint& constraint, absl::Span<const Interval> outputs) {
  Interval reach =
      math::Reach(absl::MakeSpan(constraint.coefficients).subspan(0, outputs.size()), outputs);
  return {constraint.interval.min - reach.min, constraint.interval.max - reach.max};
}

// Substitutes fixed values of the output indices (`outputs`, as single values).
std::vector<LinearConstraint> OverReduced(absl::Span<const LinearConstraint> constraints,
                                          absl::Span<const Interval> outputs) {
  std::vector<LinearConstraint> result;
  for (const LinearConstraint& constraint : constraints) {
    LinearConstraint rest = constraint;
    rest.interval = LeftForReduced(constraint, outputs);
    std::fill_n(rest.coefficients.begin(), outputs.size(), 0);
    result.push_back(std::move(rest));
  }
  return result;
}

// Returns true if one reduced point is valid for all values of `outputs`.
bool HasCommonPoint(absl::Span<const LinearConstraint> constraints, std::vector<Interval> box,
                    int output_count, int64_t& budget) {
  auto rest = OverReduced(constraints, absl::MakeSpan(box).subspan(0, output_count));
  for (const LinearConstraint& constraint : rest) {
    if (constraint.interval.empty()) return false;
  }
  std::fill_n(box.begin(), output_count, Interval{0, 0});
  std::vector<int64_t> point;
  return math::FindPoint(rest, std::move(box), budget, point) == Answer::kYes;
}

bool Holds(const LinearConstraint& constraint, absl::Span<const Interval> point) {
  return constraint.interval.Contains(math::Reach(constraint.coefficients, point));
}

// Tries each output point of the component; returns true if all have a reduced point.
bool EachHasPoint(const Component& component, const std::vector<Interval>& box, int output_count,
                  int64_t& budget) {
  int64_t points = 1;
  for (int i : component.outputs) {
    if (box[i].size() > kMaxOutputPoints / points) return false;
    points *= box[i].size();
  }
  for (int64_t number = 0; number < points; ++number) {
    std::vector<Interval> fixed = box;
    std::fill_n(fixed.begin(), output_count, Interval{0, 0});
    int64_t rest = number;
    for (int i : component.outputs) {
      int64_t value = box[i].min + rest % box[i].size();
      rest /= box[i].size();
      fixed[i] = {value, value};
    }
    bool stored = std::all_of(component.guards.begin(), component.guards.end(),
                              [&](const LinearConstraint& guard) { return Holds(guard, fixed); });
    if (stored && !HasCommonPoint(component.constraints, fixed, output_count, budget)) return false;
  }
  return true;
}

}  // namespace

bool MayBeEmpty(const IndexSpace& space) {
  int count = static_cast<int>(space.indices.size());
  std::vector<Interval> box;
  for (const Index& index : space.indices) box.push_back({0, index.range - 1});
  for (int i = space.output_index_count; i < count; ++i) {
    if (box[i].empty()) return true;
  }
  if (space.constraints.empty()) return false;

  Components components(count);
  std::vector<LinearConstraint> guards, constraints;
  for (auto [from, to] :
       {std::pair(&space.store_guard, &guards), std::pair(&space.constraints, &constraints)}) {
    for (const math::RangeConstraint& constraint : *from) {
      std::optional<LinearConstraint> linear = math::ToLinear(constraint, count);
      if (!linear || components.Join(*linear) < 0) return true;
      to->push_back(*std::move(linear));
    }
  }
  std::vector<Component> parts(count);
  auto part_of = [&](const LinearConstraint& c) -> Component& {
    return parts[components.Find(components.Join(c))];
  };
  for (LinearConstraint& guard : guards) part_of(guard).guards.push_back(std::move(guard));
  for (LinearConstraint& c : constraints) part_of(c).constraints.push_back(std::move(c));
  for (int i = 0; i < space.output_index_count; ++i) {
    parts[components.Find(i)].outputs.push_back(i);
  }

  int64_t budget = kBudget;
  return std::any_of(parts.begin(), parts.end(), [&](const Component& part) {
    return !part.constraints.empty() &&
           !HasCommonPoint(part.constraints, box, space.output_index_count, budget) &&
           !EachHasPoint(part, box, space.output_index_count, budget);
  });
}

}  // namespace tartan::poly
