// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/block_reads.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/graph/constants.h"
#include "tile/graph/rewriter.h"
#include "tile/ir/renumber.h"

namespace tartan::graph {
namespace {

using ir::ValueId;
using math::Affine;

// Returns the dimension of `whole` that `blocks` splits in two; nothing if the shapes differ
// otherwise.
std::optional<size_t> SplitDimension(const std::vector<int64_t>& whole,
                                     const std::vector<int64_t>& blocks) {
  if (blocks.size() != whole.size() + 1) return std::nullopt;
  size_t d = 0;
  while (d < whole.size() && whole[d] == blocks[d]) ++d;
  if (d == whole.size() || whole[d] != blocks[d] * blocks[d + 1]) return std::nullopt;
  for (size_t after = d + 1; after < whole.size(); ++after) {
    if (whole[after] != blocks[after + 1]) return std::nullopt;
  }
  return d;
}

// Returns the index that is the access coordinate itself, without factor or offset, or -1.
int PlainIndex(const Affine& access) {
  const int index = access.single_variable();
  const bool is_plain =
      index >= 0 && access.constant.is_zero() && access.coefficient(index) == math::Rational(1);
  return is_plain ? index : -1;
}

class BlockReader {
 public:
  explicit BlockReader(const ir::Program& program)
      : program_(program), is_constant_(FindConstants(program)), rewriter_(program) {}

  ir::Program Run() {
    for (const ir::Value& original : program_.values) {
      ir::Value value = original;
      if (auto* contraction = std::get_if<ir::Contraction>(&value.op)) Visit(contraction);
      ir::RenumberOperands(value.op, rewriter_.numbers());
      rewriter_.Replace(std::move(value));
    }
    return std::move(rewriter_).Finish();
  }

 private:
  // Skips casts that do not change the type.
  ValueId Uncast(ValueId v) const {
    for (;;) {
      const auto* cast = std::get_if<ir::Elementwise>(&program_.values[v].op);
      const bool changes_nothing =
          cast != nullptr && cast->op == ScalarOp::kCast &&
          program_.values[cast->operands[0]].shape == program_.values[v].shape;
      if (!changes_nothing) return v;
      v = cast->operands[0];
    }
  }

  // Requires the operands of the original program.
  void Visit(ir::Contraction* contraction) const {
    if (contraction->aggregation != Aggregation::kSum || contraction->inputs.size() != 2) return;
    for (ir::Access& input : contraction->inputs) {
      if (!is_constant_[input.tensor]) continue;
      const ir::Value& whole = program_.values[Uncast(input.tensor)];
      const auto* reshape = std::get_if<ir::Special>(&whole.op);
      if (reshape == nullptr || reshape->kind != ir::SpecialKind::kReshape) continue;
      const ir::Value& blocks = program_.values[reshape->operands[0]];
      if (!std::holds_alternative<ir::Elementwise>(blocks.op)) continue;
      const auto d = SplitDimension(whole.shape.dims, blocks.shape.dims);
      if (!d) continue;
      const auto count = static_cast<int>(contraction->index_names.size());
      const int index = PlainIndex(input.indices[*d]);
      const bool is_summed =
          index >= 0 &&
          std::none_of(contraction->output.indices.begin(), contraction->output.indices.end(),
                       [&](const Affine& each) { return !each.coefficient(index).is_zero(); });
      if (!is_summed) continue;
      Split(index, blocks.shape.dims[*d + 1], contraction);
      input.tensor = reshape->operands[0];
      input.indices[*d] = Affine::Variable(index);
      input.indices.insert(input.indices.begin() + static_cast<int64_t>(*d) + 1,
                           Affine::Variable(count));
      return;
    }
  }

  // Splits `index`: it becomes the block index, and a new last index is the position in the block.
  static void Split(int index, int64_t block, ir::Contraction* contraction) {
    const auto count = static_cast<int>(contraction->index_names.size());
    std::vector<Affine> map;
    for (int i = 0; i < count; ++i) map.push_back(Affine::Variable(i));
    map[index] = Affine::Variable(index) * block + Affine::Variable(count);
    const auto substitute = [&](ir::Access* access) {
      for (Affine& each : access->indices) each = each.Substitute(map);
    };
    substitute(&contraction->output);
    for (ir::Access& input : contraction->inputs) substitute(&input);
    for (math::RangeConstraint& constraint : contraction->constraints) {
      constraint.poly = constraint.poly.Substitute(map);
    }
    const std::string name = contraction->index_names[index];
    contraction->index_names[index] = absl::StrCat(name, "_block");
    contraction->index_names.push_back(absl::StrCat(name, "_inside"));
  }

  const ir::Program& program_;
  const std::vector<bool> is_constant_;
  Rewriter rewriter_;
};

}  // namespace

ir::Program ReadInBlocks(const ir::Program& program) {
  return ir::WithoutDeadValues(BlockReader(program).Run());
}

}  // namespace tartan::graph
