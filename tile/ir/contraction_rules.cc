// SPDX-License-Identifier: Apache-2.0
// Shape rules of contractions.
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"
#include "tile/ir/shape_rules.h"
#include "tile/ir/type_rules.h"

namespace tartan::ir {
namespace {

size_t InputCount(Combination combination) {
  switch (combination) {
    case Combination::kNone:
      return 1;
    case Combination::kCond:
      return 3;
    default:
      return 2;
  }
}

absl::Status CheckPolynomial(const math::Affine& poly, size_t index_count) {
  if (!poly.valid()) {
    return absl::InvalidArgumentError("an index polynomial has coefficients beyond 64 bits");
  }
  for (size_t i = index_count; i < poly.coefficients.size(); ++i) {
    if (!poly.coefficients[i].is_zero()) {
      return absl::InvalidArgumentError(
          absl::StrCat("an index polynomial uses variable ", i, " of ", index_count));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckAccess(const Access& access, const TensorShape& shape, size_t index_count) {
  if (static_cast<int64_t>(access.indices.size()) != shape.rank()) {
    return absl::InvalidArgumentError(absl::StrCat("a tensor of shape ", shape.ToString(),
                                                   " is accessed with ", access.indices.size(),
                                                   " indices"));
  }
  for (const math::Affine& poly : access.indices) {
    TARTAN_RETURN_IF_ERROR(CheckPolynomial(poly, index_count));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TensorShape> ContractionShape(const Program& program, const Contraction& contraction,
                                             absl::Span<const int64_t> dims) {
  const size_t wanted = InputCount(contraction.combination);
  if (contraction.inputs.size() != wanted) {
    return absl::InvalidArgumentError(
        absl::StrCat("a contraction with the combination '", Symbol(contraction.combination),
                     "' has ", wanted, " inputs, not ", contraction.inputs.size()));
  }
  const size_t index_count = contraction.index_names.size();
  for (const Access& input : contraction.inputs) {
    TARTAN_RETURN_IF_ERROR(CheckAccess(input, program.values[input.tensor].shape, index_count));
  }
  const ContractionTypes types = TypesOf(program, contraction);
  std::vector<ValueId> tensors;
  for (const Access& input : contraction.inputs) tensors.push_back(input.tensor);
  const absl::Span<const ValueId> all = tensors;
  const bool is_cond = contraction.combination == Combination::kCond;
  TARTAN_RETURN_IF_ERROR(CheckLiterals(
      program, is_cond ? all.subspan(0, 2) : all,
      is_cond || types.compared != DataType::kInvalid ? types.compared : types.result));
  const TensorShape result{types.result, {dims.begin(), dims.end()}};
  TARTAN_RETURN_IF_ERROR(CheckShape(result));
  TARTAN_RETURN_IF_ERROR(CheckAccess(contraction.output, result, index_count));
  for (const math::RangeConstraint& constraint : contraction.constraints) {
    TARTAN_RETURN_IF_ERROR(CheckPolynomial(constraint.poly, index_count));
  }
  if (contraction.default_value == kNoValue) return result;
  const Value& otherwise = program.values[contraction.default_value];
  const bool same_type = otherwise.shape.type == result.type || InfoOf(otherwise).is_weak;
  TARTAN_RETURN_IF_ERROR(CheckLiterals(program, {contraction.default_value}, result.type));
  if (!same_type || otherwise.shape.dims != result.dims) {
    return absl::InvalidArgumentError(absl::StrCat("the default is ", otherwise.shape.ToString(),
                                                   ", but the result is ", result.ToString()));
  }
  return result;
}

}  // namespace tartan::ir
