// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/moves/read_broadcasts.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/graph/moves/permutation.h"
#include "tile/graph/rewriter.h"
#include "tile/ir/renumber.h"

namespace tartan::graph {
namespace {

using ir::ValueId;
using math::Affine;

// A reshape that merges dimensions `dim` and `dim + 1` of an expanded tensor.
struct Merge {
  ValueId expanded = ir::kNoValue;
  int dim = 0;
};

// A split of one contraction index into two.
struct Split {
  int index = 0;
  int64_t outer = 1;
  int64_t inner = 1;
  std::vector<ir::Access> inputs;  // inputs without the permutations between
};

// Returns the dimensions with `dim` split in two.
std::vector<int64_t> SplitDims(std::vector<int64_t> dims, size_t dim, const Split& split) {
  dims[dim] = split.inner;
  dims.insert(dims.begin() + static_cast<int64_t>(dim), split.outer);
  return dims;
}

class BroadcastReader {
 public:
  explicit BroadcastReader(const ir::Program& program) : program_(program), rewriter_(program) {}

  ir::Program Run() {
    bool has_split = false;
    for (const ir::Value& original : program_.values) {
      const std::optional<Split> split = SplitOf(original);
      ir::Value value = original;
      if (split) {
        has_split = true;
        value.op = MakeContraction(original, *split);
      } else {
        ir::RenumberOperands(value.op, rewriter_.numbers());
      }
      rewriter_.Replace(std::move(value));
    }
    // The broadcast copies have no readers any more.
    return has_split ? ir::WithoutDeadValues(std::move(rewriter_).Finish()) : program_;
  }

 private:
  const ir::Value& value(ValueId v) const { return program_.values[v]; }

  // Returns true for a copy that broadcasts along a dimension.
  bool IsBroadcast(ValueId v, int dim) const {
    const auto* move = std::get_if<ir::Contraction>(&value(v).op);
    if (move == nullptr || move->combination != Combination::kNone || move->inputs.size() != 1 ||
        !move->constraints.empty() || move->default_value != ir::kNoValue ||
        value(v).shape.dims[dim] == 1) {
      return false;
    }
    const int index = move->output.indices[dim].single_variable();
    const std::vector<Affine>& read = move->inputs.front().indices;
    return index >= 0 && std::all_of(read.begin(), read.end(), [&](const Affine& coord) {
             return coord.coefficient(index).is_zero();
           });
  }

  std::optional<Merge> MergeOf(ValueId v) const {
    const auto* reshape = std::get_if<ir::Special>(&value(v).op);
    if (reshape == nullptr || reshape->kind != ir::SpecialKind::kReshape) return std::nullopt;
    const ValueId expanded = reshape->operands[0];
    const std::vector<int64_t>& from = value(expanded).shape.dims;
    const std::vector<int64_t>& to = value(v).shape.dims;
    if (from.size() != to.size() + 1) return std::nullopt;
    size_t dim = 0;
    while (dim < to.size() && from[dim] == to[dim]) ++dim;
    if (dim == to.size() || from[dim] * from[dim + 1] != to[dim] ||
        !std::equal(from.begin() + static_cast<int64_t>(dim) + 2, from.end(),
                    to.begin() + static_cast<int64_t>(dim) + 1)) {
      return std::nullopt;
    }
    const int first = static_cast<int>(dim);
    if (!IsBroadcast(expanded, first) && !IsBroadcast(expanded, first + 1)) return std::nullopt;
    return Merge{expanded, first};
  }

  ir::Access ReadDirectly(ir::Access access) const {
    while (const auto permutation = PermutationOf(program_, value(access.tensor))) {
      std::vector<Affine> indices;
      for (const int dim : permutation->result_dims) indices.push_back(access.indices[dim]);
      access = {permutation->input, std::move(indices)};
    }
    return access;
  }

  // Finds the first index that can be split; further broadcasts stay in memory.
  std::optional<Split> SplitOf(const ir::Value& original) const {
    const auto* contraction = std::get_if<ir::Contraction>(&original.op);
    if (contraction == nullptr || contraction->inputs.size() < 2 ||
        !contraction->constraints.empty() || contraction->default_value != ir::kNoValue) {
      return std::nullopt;
    }
    Split split;
    for (const ir::Access& access : contraction->inputs)
      split.inputs.push_back(ReadDirectly(access));
    for (const ir::Access& access : split.inputs) {
      const std::optional<Merge> merge = MergeOf(access.tensor);
      if (!merge) continue;
      split.index = access.indices[merge->dim].single_variable();
      if (split.index < 0) continue;
      split.outer = value(merge->expanded).shape.dims[merge->dim];
      split.inner = value(merge->expanded).shape.dims[merge->dim + 1];
      if (IsSplittable(*contraction, original.shape.dims, split)) return split;
    }
    return std::nullopt;
  }

  // Requires that the index appears only as a plain coordinate of whole dimensions.
  bool IsSplittable(const ir::Contraction& contraction, const std::vector<int64_t>& dims,
                    const Split& split) const {
    const auto fits = [&](const ir::Access& access, const std::vector<int64_t>& sizes) {
      for (size_t d = 0; d < sizes.size(); ++d) {
        const Affine& coord = access.indices[d];
        if (coord.coefficient(split.index).is_zero()) continue;
        if (!(coord == Affine::Variable(split.index)) || sizes[d] != split.outer * split.inner)
          return false;
      }
      return true;
    };
    return fits(contraction.output, dims) &&
           std::all_of(split.inputs.begin(), split.inputs.end(), [&](const ir::Access& access) {
             return fits(access, value(access.tensor).shape.dims);
           });
  }

  // Returns the coordinates with the split index followed by the new inner index.
  static std::vector<Affine> SplitCoords(const std::vector<Affine>& coords, const Split& split,
                                         int inner_index) {
    std::vector<Affine> result;
    for (const Affine& coord : coords) {
      result.push_back(coord);
      if (!coord.coefficient(split.index).is_zero()) {
        result.push_back(Affine::Variable(inner_index));
      }
    }
    return result;
  }

  std::vector<int64_t> SplitShape(const ir::Access& access, std::vector<int64_t> dims,
                                  const Split& split) const {
    for (size_t d = dims.size(); d-- > 0;) {
      if (!access.indices[d].coefficient(split.index).is_zero()) dims = SplitDims(dims, d, split);
    }
    return dims;
  }

  // Appends the contraction with two indices, and returns the reshape that merges its result.
  ir::Special MakeContraction(const ir::Value& original, const Split& split) {
    ir::Contraction contraction = std::get<ir::Contraction>(original.op);
    const int inner_index = static_cast<int>(contraction.index_names.size());
    const std::string& name = contraction.index_names[split.index];
    contraction.index_names.push_back(absl::StrCat(name, "_in"));
    TensorShape shape = original.shape;
    shape.dims = SplitShape(contraction.output, shape.dims, split);
    for (size_t i = 0; i < split.inputs.size(); ++i) {
      const ir::Access& access = split.inputs[i];
      contraction.inputs[i] = {ReadSplit(access, split),
                               SplitCoords(access.indices, split, inner_index)};
    }
    contraction.output.indices = SplitCoords(contraction.output.indices, split, inner_index);
    const ValueId split_result = rewriter_.Append(
        {absl::StrCat(original.name, "_groups"), std::move(shape), std::move(contraction)});
    return {ir::SpecialKind::kReshape, {split_result}, {}};
  }

  // Returns the input's tensor with the dimension split: the expanded tensor itself, or a view.
  ValueId ReadSplit(const ir::Access& access, const Split& split) {
    const ValueId tensor = rewriter_.numbers()[access.tensor];
    const ir::Value& original = value(access.tensor);
    TensorShape shape = original.shape;
    shape.dims = SplitShape(access, shape.dims, split);
    if (shape.dims == original.shape.dims) return tensor;
    if (const auto merge = MergeOf(access.tensor)) {
      if (value(merge->expanded).shape.dims == shape.dims)
        return rewriter_.numbers()[merge->expanded];
    }
    return rewriter_.Append({absl::StrCat(original.name, "_groups"), std::move(shape),
                             ir::Special{ir::SpecialKind::kReshape, {tensor}, {}}});
  }

  const ir::Program& program_;
  Rewriter rewriter_;
};

}  // namespace

ir::Program ReadThroughBroadcasts(const ir::Program& program) {
  return BroadcastReader(program).Run();
}

}  // namespace tartan::graph
