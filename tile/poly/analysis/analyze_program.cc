// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/analysis/analyze_program.h"

#include <string>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/poly/analysis/analyze_contraction.h"

namespace tartan::poly {
namespace {

void AppendNumber(int64_t number, std::string* key) {
  key->append(reinterpret_cast<const char*>(&number), sizeof(number));
}

void AppendDims(const std::vector<int64_t>& dims, std::string* key) {
  AppendNumber(static_cast<int64_t>(dims.size()), key);
  for (const int64_t dim : dims) AppendNumber(dim, key);
}

void AppendPoly(const math::Affine& poly, std::string* key) {
  AppendNumber(static_cast<int64_t>(poly.coefficients.size()), key);
  for (const math::Rational& coefficient : poly.coefficients) {
    AppendNumber(coefficient.numerator(), key);
    AppendNumber(coefficient.denominator(), key);
  }
  AppendNumber(poly.constant.numerator(), key);
  AppendNumber(poly.constant.denominator(), key);
}

void AppendPolys(const std::vector<math::Affine>& polys, std::string* key) {
  AppendNumber(static_cast<int64_t>(polys.size()), key);
  for (const math::Affine& poly : polys) AppendPoly(poly, key);
}

// Returns a key that is equal for contractions that differ only in their tensors, as in identical
// layers.
std::string FormOf(const ir::Contraction& contraction, const std::vector<int64_t>& output_dims,
                   const std::vector<std::vector<int64_t>>& input_dims) {
  // The binding names every member, so that a new member does not compile until it is added here.
  const auto& [aggregation, combination, index_names, output, inputs, constraints, default_value,
               no_defract] = contraction;
  std::string key;
  AppendNumber(static_cast<int64_t>(aggregation), &key);
  AppendNumber(static_cast<int64_t>(combination), &key);
  AppendNumber(static_cast<int64_t>(index_names.size()), &key);
  for (const std::string& name : index_names) absl::StrAppend(&key, name, ",");
  AppendPolys(output.indices, &key);
  AppendDims(output_dims, &key);
  AppendNumber(static_cast<int64_t>(inputs.size()), &key);
  for (size_t i = 0; i < inputs.size(); ++i) {
    AppendPolys(inputs[i].indices, &key);
    AppendDims(input_dims[i], &key);
  }
  AppendNumber(static_cast<int64_t>(constraints.size()), &key);
  for (const math::RangeConstraint& constraint : constraints) {
    AppendPoly(constraint.poly, &key);
    AppendNumber(constraint.range, &key);
  }
  AppendNumber(default_value == ir::kNoValue ? 0 : 1, &key);
  AppendNumber(no_defract ? 1 : 0, &key);
  return key;
}

}  // namespace

absl::StatusOr<ProgramSpaces> AnalyzeProgram(const ir::Program& program) {
  ProgramSpaces spaces(program.values.size());
  std::unordered_map<std::string, size_t> analyzed;  // first value of each form
  for (size_t v = 0; v < program.values.size(); ++v) {
    const auto* contraction = std::get_if<ir::Contraction>(&program.values[v].op);
    if (contraction == nullptr) continue;
    const std::vector<int64_t>& output_dims = program.values[v].shape.dims;
    std::vector<std::vector<int64_t>> input_dims;
    for (const ir::Access& access : contraction->inputs) {
      input_dims.push_back(program.values[access.tensor].shape.dims);
    }
    const auto [known, is_new] = analyzed.emplace(FormOf(*contraction, output_dims, input_dims), v);
    if (!is_new) {
      spaces[v] = spaces[known->second];
      continue;
    }
    auto space = AnalyzeContraction(*contraction, output_dims, input_dims);
    if (!space.ok()) {
      return absl::Status(space.status().code(),
                          absl::StrCat(program.values[v].name, ": ", space.status().message()));
    }
    spaces[v] = *std::move(space);
  }
  return spaces;
}

}  // namespace tartan::poly
