#include "tile/autodiff/split_contraction.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"
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

// Gives every input index with fractions a variable of its own, held equal to it: an integer index
// survives as a range constraint, a fractional one would lose that it must be whole.
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

// The least box that intervals give for the index variables; nothing where it is empty.
absl::StatusOr<std::optional<std::vector<math::Interval>>> Box(
    absl::Span<const RangeConstraint> constraints, const std::vector<std::string>& names) {
  std::vector<math::LinearConstraint> linear;
  for (const RangeConstraint& constraint : constraints) {
    std::optional<math::LinearConstraint> converted =
        math::ToLinear(constraint, static_cast<int>(names.size()));
    if (!converted.has_value()) {
      return absl::UnimplementedError(
          absl::StrCat("the numbers of ", constraint.ToString(names), " leave 60 bits"));
    }
    linear.push_back(*std::move(converted));
  }
  std::vector<math::Interval> box(names.size());
  if (!math::MergeParallel(linear) || !math::Propagate(linear, box)) return std::nullopt;
  for (size_t i = 0; i < box.size(); ++i) {
    if (box[i].bounded()) continue;
    return absl::UnimplementedError(
        absl::StrCat("a product, maximum or minimum of several tensors whose index '", names[i],
                     "' no single condition bounds"));
  }
  return box;
}

}  // namespace

absl::StatusOr<std::optional<SplitContraction>> Split(
    const ir::Contraction& contraction, absl::Span<const std::vector<int64_t>> input_dims,
    const std::vector<int64_t>& output_dims) {
  ir::Contraction named = contraction;
  named.default_value = ir::kNoValue;
  NameFractions(named);
  std::vector<RangeConstraint> inner = named.constraints;
  for (size_t i = 0; i < input_dims.size(); ++i) {
    AppendRanges(named.inputs[i], input_dims[i], inner);
  }
  std::vector<RangeConstraint> all = inner;
  AppendRanges(named.output, output_dims, all);
  TARTAN_ASSIGN_OR_RETURN(const auto box, Box(all, named.index_names));
  if (!box.has_value()) return std::nullopt;

  ir::Access middle;
  SplitContraction split;
  for (size_t i = 0; i < box->size(); ++i) {
    middle.indices.push_back(Affine::Variable(static_cast<int>(i)) -
                             Affine::Constant((*box)[i].min));
    split.dims.push_back((*box)[i].size());
  }
  split.aggregate = named;
  split.aggregate.combination = Combination::kNone;
  split.aggregate.inputs = {middle};
  split.aggregate.constraints = std::move(inner);
  split.combine = std::move(named);
  split.combine.aggregation = Aggregation::kAssign;
  split.combine.output = std::move(middle);
  return split;
}

}  // namespace tartan::autodiff
