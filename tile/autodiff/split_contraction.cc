// SPDX-License-Identifier: Apache-2.0
#include "tile/autodiff/split_contraction.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"
#include "tile/math/echelon.h"
#include "tile/math/integer.h"
#include "tile/math/integer_system.h"

namespace tartan::autodiff {
namespace {

using math::Affine;
using math::RangeConstraint;

int64_t CommonDenominator(const Affine& poly) {
  int64_t denominator = poly.constant.denominator();
  for (const math::Rational& c : poly.coefficients) {
    denominator *= c.denominator() / math::Gcd(denominator, c.denominator());
  }
  return denominator;
}

// Replaces every input index with fractions by a new variable with an equality constraint. The
// variable keeps the requirement that the index is an integer, which a range constraint would lose.
void NameFractions(ir::Contraction& contraction) {
  for (ir::Access& input : contraction.inputs) {
    for (Affine& poly : input.indices) {
      if (poly.is_integer()) continue;
      const int64_t denominator = CommonDenominator(poly);
      const auto variable = static_cast<int>(contraction.index_names.size());
      contraction.index_names.push_back(absl::StrCat("q", variable));
      contraction.constraints.push_back(
          {Affine::Variable(variable, denominator) - poly * denominator, 1});
      poly = Affine::Variable(variable);
    }
  }
}

void AppendRanges(const ir::Access& access, const std::vector<int64_t>& dims,
                  std::vector<RangeConstraint>& constraints) {
  for (size_t d = 0; d < dims.size(); ++d) constraints.push_back({access.indices[d], dims[d]});
}

using Intervals = std::vector<math::Interval>;

// Bounds a variable by a linear combination of conditions, such as i = ((i + j) + (i - j)) / 2.
void BoundBySum(absl::Span<const math::LinearConstraint> linear, Intervals& box) {
  const auto count = static_cast<int>(box.size());
  std::vector<Affine> polys;
  for (const math::LinearConstraint& constraint : linear) {
    Affine& poly = polys.emplace_back();
    poly.coefficients.assign(constraint.coefficients.begin(), constraint.coefficients.end());
  }
  const std::optional<math::Echelon> echelon = math::RowEchelon(polys, count);
  if (!echelon.has_value()) return;
  for (int i = 0; i < count; ++i) {
    const int row = box[i].bounded() ? -1 : echelon->RowOf(i);
    if (row < 0) continue;
    math::Rational min = 0;
    math::Rational max = 0;
    for (size_t c = 0; c < linear.size(); ++c) {
      const math::Rational& factor = echelon->combinations[row][c];
      if (factor.is_zero()) continue;
      const bool flips = factor < math::Rational(0);
      const math::Interval& interval = linear[c].interval;
      min = min + factor * math::Rational(flips ? interval.max : interval.min);
      max = max + factor * math::Rational(flips ? interval.min : interval.max);
    }
    if (min.valid() && max.valid()) box[i] = {min.Ceil(), max.Floor()};
  }
}

// Returns bounds of all index variables; nothing if there are no valid values.
absl::StatusOr<std::optional<Intervals>> Box(absl::Span<const RangeConstraint> constraints,
                                             const std::vector<std::string>& names) {
  std::vector<math::LinearConstraint> linear;
  for (const RangeConstraint& constraint : constraints) {
    std::optional<math::LinearConstraint> converted =
        math::ToLinear(constraint, static_cast<int>(names.size()));
    if (!converted.has_value()) {
      return absl::UnimplementedError(
          absl::StrCat("the coefficients of ", constraint.ToString(names), " exceed 60 bits"));
    }
    linear.push_back(*std::move(converted));
  }
  Intervals box(names.size());
  if (!math::MergeParallel(linear) || !math::Propagate(linear, box)) return std::nullopt;
  BoundBySum(linear, box);
  if (!math::Propagate(linear, box)) return std::nullopt;
  for (size_t i = 0; i < box.size(); ++i) {
    if (box[i].bounded()) continue;
    return absl::UnimplementedError(
        absl::StrCat("the bounds of this index are unknown: '", names[i], "'"));
  }
  return box;
}

// A contraction with its constraints and the bounds of its indices.
struct Space {
  ir::Contraction contraction;         // without default value; no input index has fractions
  std::vector<RangeConstraint> inner;  // its constraints and the ranges of its inputs
  Intervals box;
};

absl::StatusOr<std::optional<Space>> SpaceOf(const ir::Contraction& contraction,
                                             absl::Span<const std::vector<int64_t>> input_dims,
                                             const std::vector<int64_t>& output_dims) {
  Space space{contraction, {}, {}};
  ir::Contraction& named = space.contraction;
  named.default_value = ir::kNoValue;
  NameFractions(named);
  space.inner = named.constraints;
  for (size_t i = 0; i < input_dims.size(); ++i) {
    AppendRanges(named.inputs[i], input_dims[i], space.inner);
  }
  std::vector<RangeConstraint> all = space.inner;
  AppendRanges(named.output, output_dims, all);
  TARTAN_ASSIGN_OR_RETURN(auto box, Box(all, named.index_names));
  if (!box.has_value()) return std::nullopt;
  space.box = *std::move(box);
  return space;
}

// Appends a dimension for an index variable.
void AppendVariable(int variable, const math::Interval& interval, ir::Access& output,
                    std::vector<int64_t>& dims) {
  output.indices.push_back(Affine::Variable(variable) - Affine::Constant(interval.min));
  dims.push_back(interval.size());
}

}  // namespace

absl::StatusOr<std::optional<SplitContraction>> Split(
    const ir::Contraction& contraction, absl::Span<const std::vector<int64_t>> input_dims,
    const std::vector<int64_t>& output_dims) {
  TARTAN_ASSIGN_OR_RETURN(auto space, SpaceOf(contraction, input_dims, output_dims));
  if (!space.has_value()) return std::nullopt;
  SplitContraction split;
  ir::Access middle;
  for (size_t i = 0; i < space->box.size(); ++i) {
    AppendVariable(static_cast<int>(i), space->box[i], middle, split.stored.dims);
  }
  split.aggregate = space->contraction;
  split.aggregate.combination = Combination::kNone;
  split.aggregate.inputs = {middle};
  split.aggregate.constraints = std::move(space->inner);
  split.stored.combine = std::move(space->contraction);
  split.stored.combine.aggregation = Aggregation::kAssign;
  split.stored.combine.output = std::move(middle);
  return split;
}

absl::StatusOr<std::optional<StoredContraction>> StoreByElement(
    const ir::Contraction& contraction, absl::Span<const std::vector<int64_t>> input_dims,
    const std::vector<int64_t>& output_dims) {
  TARTAN_ASSIGN_OR_RETURN(auto space, SpaceOf(contraction, input_dims, output_dims));
  if (!space.has_value()) return std::nullopt;
  StoredContraction stored{std::move(space->contraction), output_dims};
  stored.combine.aggregation = Aggregation::kAssign;
  const auto count = static_cast<int>(space->box.size());
  std::vector<Affine> equations = stored.combine.output.indices;
  for (const RangeConstraint& constraint : stored.combine.constraints) {
    if (constraint.range <= 1) equations.push_back(constraint.poly);
  }
  const std::optional<math::Echelon> echelon = math::RowEchelon(equations, count);
  if (!echelon.has_value()) return absl::UnimplementedError("coefficients exceed 64 bits");
  for (int i = 0; i < count; ++i) {
    const bool is_free =
        std::find(echelon->pivots.begin(), echelon->pivots.end(), i) == echelon->pivots.end();
    if (is_free) AppendVariable(i, space->box[i], stored.combine.output, stored.dims);
  }
  return stored;
}

}  // namespace tartan::autodiff
