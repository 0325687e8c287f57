// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/moves/fuse_permutations.h"

#include <optional>

#include "tile/graph/moves/permutation.h"
#include "tile/poly/coords.h"

namespace tartan::graph {
namespace {

using ir::ValueId;

constexpr int64_t kMinRow = 16;  // elements; shorter rows do not fill vectors and cache lines

bool IsReshape(const ir::Value& value) {
  const auto* special = std::get_if<ir::Special>(&value.op);
  return special != nullptr && special->kind == ir::SpecialKind::kReshape;
}

// Returns true for matmuls. Other reductions may be in row chains, which store their results
// differently.
bool IsMatmul(const ir::Value& value) {
  const auto* contraction = std::get_if<ir::Contraction>(&value.op);
  return contraction != nullptr && contraction->aggregation == Aggregation::kSum &&
         contraction->combination == Combination::kMultiply;
}

// Both directions are needed: the result is written, and the computed values are read, through the
// root's coordinates.
bool HasCoords(const poly::IndexSpace& space, const TensorShape& root, const TensorShape& input) {
  const auto coords =
      poly::ReshapeCoords(space.output_coords, root.dims, input.dims, space.indices);
  return coords.has_value() &&
         poly::ReshapeCoords(*coords, input.dims, root.dims, space.indices).has_value();
}

}  // namespace

void FusePermutations(const ir::Program& program, const poly::ProgramSpaces& spaces,
                      const std::vector<bool>& is_constant, std::vector<ValueId>* region,
                      std::vector<bool>* in_memory) {
  std::vector<int> uses = ir::UseCounts(program);
  std::vector<int> results(program.values.size(), 0);  // number of stored results, by root
  for (size_t v = 0; v < program.values.size(); ++v) {
    if ((*in_memory)[v] && (*region)[v] != ir::kNoValue) ++results[(*region)[v]];
  }
  for (size_t v = 0; v < program.values.size(); ++v) {
    if (!(*in_memory)[v] || (*region)[v] != ir::kNoValue) continue;
    if (!spaces[v].has_value() || !spaces[v]->covers_output) continue;
    const std::optional<Permutation> permutation = PermutationOf(program, program.values[v]);
    const std::vector<int64_t>& dims = program.values[v].shape.dims;
    if (!permutation || dims.empty() || dims.back() < kMinRow ||
        permutation->result_dims.back() != static_cast<int>(dims.size()) - 1) {
      continue;
    }
    std::vector<ValueId> views;
    ValueId stored = permutation->input;
    while (IsReshape(program.values[stored]) && (*region)[stored] == ir::kNoValue &&
           uses[stored] == 1) {
      views.push_back(stored);
      stored = std::get<ir::Special>(program.values[stored].op).operands[0];
    }
    const ValueId root = (*region)[stored];
    if (root == ir::kNoValue || !IsMatmul(program.values[root]) || results[root] != 1 ||
        !(*in_memory)[stored] || uses[stored] != 1 || is_constant[root] != is_constant[v] ||
        !HasCoords(*spaces[root], program.values[root].shape,
                   program.values[permutation->input].shape)) {
      continue;
    }
    (*in_memory)[stored] = false;
    (*region)[v] = root;
    for (const ValueId view : views) (*region)[view] = root;
  }
}

}  // namespace tartan::graph
