// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/matmul/split_k.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/graph/matmul/is_matmul.h"
#include "tile/graph/rewriter.h"
#include "tile/ir/renumber.h"

namespace tartan::graph {
namespace {

using ir::ValueId;
using math::Affine;

// Returns the only reduced index, or -1 if there are none or several.
int ReducedIndex(const ir::Contraction& product) {
  const std::set<int> written = IndicesOf(product.output);
  int reduced = -1;
  for (const ir::Access& input : product.inputs) {
    for (const int index : IndicesOf(input)) {
      if (written.count(index) > 0 || index == reduced) continue;
      if (reduced >= 0) return -1;
      reduced = index;
    }
  }
  return reduced;
}

// Returns the dimension whose coordinate is exactly the index, or -1.
int DimensionOf(const ir::Access& access, int index) {
  for (size_t d = 0; d < access.indices.size(); ++d) {
    if (access.indices[d] == Affine::Variable(index)) return static_cast<int>(d);
  }
  return -1;
}

// Returns true if `user` reduces rows of `value` (its last dimension) to results of that row.
bool ReducesRows(const ir::Program& program, ValueId value, ValueId user) {
  const auto* reduction = std::get_if<ir::Contraction>(&program.values[user].op);
  if (reduction == nullptr || reduction->aggregation == Aggregation::kAssign ||
      IsMatmul(*reduction)) {
    return false;
  }
  const std::set<int> written = IndicesOf(reduction->output);
  return std::any_of(
      reduction->inputs.begin(), reduction->inputs.end(), [&](const ir::Access& read) {
        if (read.tensor != value) return false;
        std::set<int> along = IndicesOf({value, {read.indices.back()}});
        std::set<int> rows = IndicesOf(read);
        std::erase_if(rows, [&](int index) { return along.count(index) > 0; });
        const auto is_written = [&](int index) { return written.count(index) > 0; };
        return !along.empty() && std::none_of(along.begin(), along.end(), is_written) &&
               std::all_of(rows.begin(), rows.end(), is_written);
      });
}

// Returns true if at most `most` elementwise operations of the same shape lead from the value to a
// row reduction.
bool LeadsToReduction(const ir::Program& program, const std::vector<std::vector<ValueId>>& users,
                      ValueId value, int most) {
  return std::any_of(users[value].begin(), users[value].end(), [&](ValueId user) {
    if (ReducesRows(program, value, user)) return true;
    const bool is_elementwise = std::holds_alternative<ir::Elementwise>(program.values[user].op) &&
                                program.values[user].shape == program.values[value].shape;
    return is_elementwise && most > 0 && LeadsToReduction(program, users, user, most - 1);
  });
}

class SplitKRewriter {
 public:
  SplitKRewriter(const ir::Program& program, const std::map<ValueId, int64_t>& runs)
      : program_(program), runs_(runs), rewriter_(program) {}

  SplitKMatmuls Run() && {
    for (size_t v = 0; v < program_.values.size(); ++v) {
      const auto found = runs_.find(static_cast<ValueId>(v));
      ir::Value value = program_.values[v];
      if (found != runs_.end()) {
        AddSum(value, AddParts(value, found->second, ReducedExtent(program_, found->first)));
        continue;
      }
      ir::RenumberOperands(value.op, rewriter_.numbers());
      rewriter_.Replace(std::move(value));
    }
    std::vector<ValueId> numbers = rewriter_.numbers();
    return {std::move(rewriter_).Finish(), std::move(numbers)};
  }

 private:
  // Appends the batched matmul of partial sums, with the chunk index as first dimension.
  ValueId AddParts(const ir::Value& value, int64_t runs, int64_t depth) {
    auto product = std::get<ir::Contraction>(value.op);
    const int index = ReducedIndex(product);
    const auto run = static_cast<int>(product.index_names.size());
    product.index_names.push_back(absl::StrCat(product.index_names[index], "_run"));
    std::vector<Affine> map;
    for (int i = 0; i <= run; ++i) map.push_back(Affine::Variable(i));
    map[index] = map[index] + Affine::Variable(run, depth / runs);
    for (ir::Access& input : product.inputs) {
      for (Affine& coordinate : input.indices) coordinate = coordinate.Substitute(map);
    }
    for (math::RangeConstraint& constraint : product.constraints) {
      constraint.poly = constraint.poly.Substitute(map);
    }
    product.constraints.push_back({Affine::Variable(index), depth / runs});
    product.output.indices.insert(product.output.indices.begin(), Affine::Variable(run));
    TensorShape shape = value.shape;
    shape.dims.insert(shape.dims.begin(), runs);
    ir::Op op = std::move(product);
    ir::RenumberOperands(op, rewriter_.numbers());
    return rewriter_.Append({absl::StrCat(value.name, "_runs"), std::move(shape), std::move(op)});
  }

  void AddSum(const ir::Value& value, ValueId parts) {
    const int64_t runs = rewriter_.value(parts).shape.dims.front();
    ValueId sum = ir::kNoValue;
    for (int64_t r = 0; r < runs; ++r) {
      ir::Contraction slice = IdentityCopy(parts, value.shape.dims.size());
      std::vector<Affine>& read = slice.inputs.front().indices;
      read.insert(read.begin(), Affine::Constant(r));
      const ValueId run =
          rewriter_.Append({absl::StrCat(value.name, "_run", r), value.shape, std::move(slice)});
      if (r == 0) {
        sum = run;
        continue;
      }
      ir::Value added{value.name, value.shape, ir::Elementwise{ScalarOp::kAdd, {sum, run}}};
      if (r + 1 == runs) return rewriter_.Replace(std::move(added));
      absl::StrAppend(&added.name, "_to", r);
      sum = rewriter_.Append(std::move(added));
    }
  }

  const ir::Program& program_;
  const std::map<ValueId, int64_t>& runs_;
  Rewriter rewriter_;
};

}  // namespace

bool FeedsRowReduction(const ir::Program& program, const std::vector<std::vector<ValueId>>& users,
                       ValueId value) {
  // Maximum elementwise operations between the matmul and the row reduction. Empirical.
  constexpr int kMaxSteps = 4;
  const auto* product = std::get_if<ir::Contraction>(&program.values[value].op);
  if (product == nullptr || !IsMatmul(*product) ||
      program.values[value].shape.type != DataType::kFloat32) {
    return false;
  }
  const int index = ReducedIndex(*product);
  if (index < 0 || DimensionOf(product->inputs[0], index) < 0) return false;
  return LeadsToReduction(program, users, value, kMaxSteps);
}

int64_t ReducedExtent(const ir::Program& program, ValueId value) {
  const auto& product = std::get<ir::Contraction>(program.values[value].op);
  const ir::Access& input = product.inputs[0];
  return program.values[input.tensor].shape.dims[DimensionOf(input, ReducedIndex(product))];
}

SplitKMatmuls SplitK(const ir::Program& program, const std::map<ValueId, int64_t>& runs) {
  return SplitKRewriter(program, runs).Run();
}

}  // namespace tartan::graph
