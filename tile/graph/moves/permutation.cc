// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/moves/permutation.h"

namespace tartan::graph {

using math::Affine;

std::optional<Permutation> PermutationOf(const ir::Program& program, const ir::Value& value) {
  const auto* move = std::get_if<ir::Contraction>(&value.op);
  if (move == nullptr || move->combination != Combination::kNone || move->inputs.size() != 1 ||
      !move->constraints.empty() ||
      (move->aggregation != Aggregation::kAssign && move->aggregation != Aggregation::kSum)) {
    return std::nullopt;
  }
  const ir::Access& read = move->inputs.front();
  const TensorShape& from = program.values[read.tensor].shape;
  const std::vector<int64_t>& to = value.shape.dims;
  if (from.type != value.shape.type || from.dims.size() != to.size() ||
      move->index_names.size() != to.size()) {
    return std::nullopt;
  }
  std::vector<int> dim_of(to.size(), -1);  // result dimension of each index
  for (size_t d = 0; d < to.size(); ++d) {
    const int index = move->output.indices[d].single_variable();
    if (index < 0 || dim_of[index] >= 0 || !(move->output.indices[d] == Affine::Variable(index)))
      return std::nullopt;
    dim_of[index] = static_cast<int>(d);
  }
  Permutation permutation = {read.tensor, {}};
  std::vector<bool> is_read(to.size(), false);
  for (size_t d = 0; d < from.dims.size(); ++d) {
    const int index = read.indices[d].single_variable();
    if (index < 0 || is_read[index] || !(read.indices[d] == Affine::Variable(index)) ||
        from.dims[d] != to[dim_of[index]]) {
      return std::nullopt;
    }
    is_read[index] = true;
    permutation.result_dims.push_back(dim_of[index]);
  }
  return permutation;
}

std::vector<int64_t> WithoutOnes(std::vector<int64_t> dims) {
  std::erase(dims, 1);
  return dims;
}

}  // namespace tartan::graph
