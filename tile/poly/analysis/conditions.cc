// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/analysis/conditions.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tartan::poly {

using math::RangeConstraint;

absl::StatusOr<Conditions> GatherConditions(const ir::Contraction& contraction,
                                            absl::Span<const int64_t> output_dims,
                                            absl::Span<const std::vector<int64_t>> input_dims) {
  Conditions result;
  size_t index_count = contraction.index_names.size();
  auto add = [&](const ir::Access& access, absl::Span<const int64_t> dims,
                 std::vector<RangeConstraint>& to) {
    if (access.indices.size() != dims.size()) return false;
    for (size_t i = 0; i < dims.size(); ++i) to.push_back({access.indices[i], dims[i]});
    return true;
  };
  if (!add(contraction.output, output_dims, result.of_output)) {
    return absl::InternalError("output access and sizes differ in rank");
  }
  if (contraction.inputs.size() != input_dims.size()) {
    return absl::InternalError("a contraction's inputs and their sizes differ in number");
  }
  for (size_t i = 0; i < input_dims.size(); ++i) {
    if (!add(contraction.inputs[i], input_dims[i], result.of_values)) {
      return absl::InternalError(absl::StrCat("input access ", i, " and sizes differ in rank"));
    }
  }
  result.of_values.insert(result.of_values.end(), contraction.constraints.begin(),
                          contraction.constraints.end());
  std::vector<bool> met(index_count);
  for (const auto* conditions : {&result.of_output, &result.of_values}) {
    for (const RangeConstraint& condition : *conditions) {
      if (!condition.poly.valid()) {
        return absl::ResourceExhaustedError("a polynomial of the contraction exceeds 64 bits");
      }
      if (condition.poly.coefficients.size() > index_count) {
        return absl::InternalError("an access names an index that the contraction lacks");
      }
      result.never |= condition.range <= 0;
      for (size_t i = 0; i < index_count; ++i) {
        if (met[i] || condition.poly.coefficient(i).is_zero()) continue;
        met[i] = true;
        result.order.push_back(static_cast<int>(i));
      }
    }
  }
  for (size_t i = 0; i < index_count; ++i) {
    if (!met[i]) result.order.push_back(static_cast<int>(i));
  }
  return result;
}

}  // namespace tartan::poly
