// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/matmul/flattened_rows.h"

#include <algorithm>
#include <variant>

#include "tile/graph/constants.h"
#include "tile/graph/matmul/is_matmul.h"
#include "tile/graph/rewriter.h"

namespace tartan::graph {
namespace {

using ir::ValueId;
using math::Affine;

// Bytes. A larger matrix takes much longer to read than its image takes to reorder, so a reordered
// copy of it does not pay.
constexpr int64_t kMaxMatrixBytes = 16 << 20;

// Returns true for a reshape that merges all dimensions except the first.
bool IsFlattening(const ir::Program& program, const ir::Value& value) {
  const auto* special = std::get_if<ir::Special>(&value.op);
  if (special == nullptr || special->kind != ir::SpecialKind::kReshape) return false;
  const std::vector<int64_t>& from = program.values[special->operands[0]].shape.dims;
  const std::vector<int64_t>& to = value.shape.dims;
  return from.size() >= 3 && to.size() == 2 && from[0] == to[0];
}

}  // namespace

FlattenedRows::FlattenedRows(const ir::Program& program)
    : program_(program),
      is_constant_(FindConstants(program)),
      is_flattened_(program.values.size(), false) {
  const std::vector<std::vector<ValueId>> users = UsersOf(program);
  for (size_t v = 0; v < program.values.size(); ++v) {
    const auto id = static_cast<ValueId>(v);
    const bool is_output =
        std::find(program.outputs.begin(), program.outputs.end(), id) != program.outputs.end();
    if (is_output || is_constant_[v] || !IsFlattening(program, program.values[v])) continue;
    is_flattened_[v] =
        !users[v].empty() && std::all_of(users[v].begin(), users[v].end(), [&](ValueId user) {
          const auto* contraction = std::get_if<ir::Contraction>(&program.values[user].op);
          if (contraction == nullptr || contraction->inputs.size() != 2) return false;
          const int rows = contraction->inputs[0].tensor == id ? 0 : 1;
          return Match(*contraction, rows).has_value();
        });
  }
}

std::optional<FlattenedMatmul> FlattenedRows::AsMatmul(const ir::Contraction& contraction) const {
  for (int rows = 0; rows < static_cast<int>(contraction.inputs.size()); ++rows) {
    if (is_flattened_[contraction.inputs[rows].tensor]) return Match(contraction, rows);
  }
  return std::nullopt;
}

// Requires that the element index is a plain coordinate in both factors and appears nowhere else.
std::optional<FlattenedMatmul> FlattenedRows::Match(const ir::Contraction& contraction,
                                                    int rows) const {
  if (!IsMatmul(contraction) || !contraction.constraints.empty()) return std::nullopt;
  const ir::Access& row = contraction.inputs[rows];
  const ir::Access& matrix = contraction.inputs[1 - rows];
  if (!is_constant_[matrix.tensor]) return std::nullopt;
  const int element = row.indices[1].single_variable();
  if (element < 0 || !(row.indices[1] == Affine::Variable(element)) ||
      row.indices[0].coefficient(element) != 0 ||
      IndicesOf(contraction.output).count(element) > 0) {
    return std::nullopt;
  }
  int summed = -1;
  for (size_t d = 0; d < matrix.indices.size(); ++d) {
    if (matrix.indices[d].coefficient(element) == 0) continue;
    if (summed >= 0 || !(matrix.indices[d] == Affine::Variable(element))) return std::nullopt;
    summed = static_cast<int>(d);
  }
  if (summed < 0) return std::nullopt;
  const TensorShape& shape = program_.values[matrix.tensor].shape;
  const int64_t elements = program_.values[row.tensor].shape.dims[1];
  if (shape.dims[summed] != elements || shape.byte_size() > kMaxMatrixBytes) return std::nullopt;
  return FlattenedMatmul{rows, summed};
}

}  // namespace tartan::graph
