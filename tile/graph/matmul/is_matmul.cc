// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/matmul/is_matmul.h"

namespace tartan::graph {

std::set<int> IndicesOf(const ir::Access& access) {
  std::set<int> indices;
  for (const math::Affine& coordinate : access.indices) {
    for (int i = 0; i < static_cast<int>(coordinate.coefficients.size()); ++i) {
      if (!coordinate.coefficient(i).is_zero()) indices.insert(i);
    }
  }
  return indices;
}

bool IsMatmul(const ir::Contraction& contraction) {
  if (contraction.aggregation != Aggregation::kSum ||
      contraction.combination != Combination::kMultiply || contraction.inputs.size() != 2 ||
      contraction.default_value != ir::kNoValue) {
    return false;
  }
  const std::set<int> left = IndicesOf(contraction.inputs[0]);
  const std::set<int> right = IndicesOf(contraction.inputs[1]);
  bool has_rows = false;
  bool has_columns = false;
  for (const int i : IndicesOf(contraction.output)) {
    has_rows |= left.count(i) > 0 && right.count(i) == 0;
    has_columns |= right.count(i) > 0 && left.count(i) == 0;
  }
  return has_rows && has_columns;
}

bool IsNarrowMatmul(const ir::Program& program, const ir::Value& value) {
  const auto* contraction = std::get_if<ir::Contraction>(&value.op);
  if (contraction == nullptr || !IsMatmul(*contraction)) return false;
  const auto type_of = [&](int i) {
    return program.values[contraction->inputs[i].tensor].shape.type;
  };
  const DataType type = type_of(0);
  return type == type_of(1) && (type == DataType::kBFloat16 || type == DataType::kFloat16);
}

}  // namespace tartan::graph
