// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/moves/split_permutations.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "tile/graph/moves/permutation.h"
#include "tile/graph/rewriter.h"

namespace tartan::graph {
namespace {

using ir::ValueId;

// Returns the cumulative element counts of the leading dimensions, starting with 1 and skipping
// dimensions of size 1.
std::vector<int64_t> BoundariesOf(const std::vector<int64_t>& dims) {
  std::vector<int64_t> boundaries = {1};
  for (const int64_t size : dims) {
    if (size > 1) boundaries.push_back(boundaries.back() * size);
  }
  return boundaries;
}

// Returns the coarsest common refinement of two shapes; nothing if there is none.
std::optional<std::vector<int64_t>> CommonDimensions(const std::vector<int64_t>& boundaries,
                                                     const std::vector<int64_t>& others) {
  std::vector<int64_t> all;
  std::set_union(boundaries.begin(), boundaries.end(), others.begin(), others.end(),
                 std::back_inserter(all));
  std::vector<int64_t> dims;
  for (size_t i = 1; i < all.size(); ++i) {
    if (all[i] % all[i - 1] != 0) return std::nullopt;
    dims.push_back(all[i] / all[i - 1]);
  }
  return dims;
}

// Returns the input of a reshape.
std::optional<ValueId> ReshapedBy(const ir::Program& program, ValueId value) {
  const auto* special = std::get_if<ir::Special>(&program.values[value].op);
  if (special == nullptr || special->kind != ir::SpecialKind::kReshape) return std::nullopt;
  return special->operands.front();
}

// Each dimension of a shape, as the common dimensions that it consists of.
using Parts = std::vector<std::vector<int64_t>>;

Parts PartsOf(const std::vector<int64_t>& shape, const std::vector<int64_t>& dims) {
  Parts parts(shape.size());
  size_t next = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    for (int64_t left = shape[d]; left > 1; left /= dims[next++]) parts[d].push_back(dims[next]);
  }
  return parts;
}

std::vector<int64_t> Joined(const Parts& parts) {
  std::vector<int64_t> dims;
  for (const std::vector<int64_t>& of_dim : parts) {
    dims.insert(dims.end(), of_dim.begin(), of_dim.end());
  }
  return dims;
}

// A permutation of the common dimensions.
struct SplitMove {
  ValueId value = ir::kNoValue;  // the original permutation
  std::vector<int64_t> dims;
  std::vector<int> sources;  // input dimension of each result dimension
};

SplitMove SplitBy(const Permutation& permutation, Parts* parts) {
  std::vector<size_t> input_dims(parts->size());  // of each dimension of the result
  std::vector<int> begins(parts->size(), 0);
  for (size_t d = 0; d < parts->size(); ++d) {
    input_dims[permutation.result_dims[d]] = d;
    if (d > 0) begins[d] = begins[d - 1] + static_cast<int>((*parts)[d - 1].size());
  }
  SplitMove move;
  Parts permuted;
  for (const size_t d : input_dims) {
    for (size_t i = 0; i < (*parts)[d].size(); ++i) {
      move.sources.push_back(begins[d] + static_cast<int>(i));
    }
    permuted.push_back((*parts)[d]);
  }
  *parts = std::move(permuted);
  move.dims = Joined(*parts);
  return move;
}

// A chain of permutations between two reshapes, on their common dimensions.
struct SplitChain {
  ValueId merged = ir::kNoValue;  // the first reshape
  std::vector<int64_t> dims;      // its new dimensions
  std::vector<SplitMove> moves;   // in order; each reads the result of the previous one
};

class Splitter {
 public:
  explicit Splitter(const ir::Program& program) : program_(program), users_(UsersOf(program)) {}

  // Returns nothing if the value is no reshape of a permuted reshape.
  std::optional<SplitChain> SplitOf(ValueId value) const {
    std::optional<ValueId> at = ReshapedBy(program_, value);
    if (!at.has_value()) return std::nullopt;
    std::vector<std::pair<ValueId, Permutation>> permutations;  // last one first
    while (IsReadOnce(*at)) {
      const auto permutation = PermutationOf(program_, program_.values[*at]);
      if (!permutation.has_value()) break;
      permutations.emplace_back(*at, *permutation);
      at = permutation->input;
    }
    if (permutations.empty() || !IsReadOnce(*at)) return std::nullopt;
    const auto dims = SplitDimsOf(*at);
    if (!dims.has_value()) return std::nullopt;
    SplitChain chain = {*at, *dims, {}};
    Parts parts = PartsOf(DimsOf(*at), *dims);
    for (auto link = permutations.rbegin(); link != permutations.rend(); ++link) {
      chain.moves.push_back(SplitBy(link->second, &parts));
      chain.moves.back().value = link->first;
    }
    if (Joined(parts) != WithoutOnes(DimsOf(value))) return std::nullopt;
    return chain;
  }

 private:
  const std::vector<int64_t>& DimsOf(ValueId value) const {
    return program_.values[value].shape.dims;
  }

  bool IsReadOnce(ValueId value) const {
    return users_[value].size() == 1 && std::find(program_.outputs.begin(), program_.outputs.end(),
                                                  value) == program_.outputs.end();
  }

  // Returns the common dimensions of a merging reshape and its input.
  std::optional<std::vector<int64_t>> SplitDimsOf(ValueId merged) const {
    const std::optional<ValueId> input = ReshapedBy(program_, merged);
    if (!input || program_.values[merged].shape.element_count() == 0) return std::nullopt;
    const std::vector<int64_t> outer = BoundariesOf(DimsOf(*input));
    const std::vector<int64_t> inner = BoundariesOf(DimsOf(merged));
    // A reshape that only splits dimensions needs no change.
    if (std::includes(inner.begin(), inner.end(), outer.begin(), outer.end())) return std::nullopt;
    return CommonDimensions(outer, inner);
  }

  const ir::Program& program_;
  const std::vector<std::vector<ValueId>> users_;
};

// Returns a permutation of `input`, which already has the common dimensions.
ir::Contraction PermutationBy(ValueId input, const std::vector<int>& sources) {
  ir::Contraction move = IdentityCopy(input, sources.size());
  for (size_t d = 0; d < sources.size(); ++d) {
    move.inputs.front().indices[sources[d]] = math::Affine::Variable(static_cast<int>(d));
  }
  return move;
}

}  // namespace

ir::Program SplitPermutations(const ir::Program& program) {
  const Splitter splitter(program);
  ir::Program result = program;
  for (size_t v = 0; v < program.values.size(); ++v) {
    const auto chain = splitter.SplitOf(static_cast<ValueId>(v));
    if (!chain.has_value()) continue;
    result.values[chain->merged].shape.dims = chain->dims;
    ValueId input = chain->merged;
    for (const SplitMove& move : chain->moves) {
      ir::Value& value = result.values[move.value];
      value.shape.dims = move.dims;
      value.op = PermutationBy(input, move.sources);
      input = move.value;
    }
  }
  return result;
}

}  // namespace tartan::graph
