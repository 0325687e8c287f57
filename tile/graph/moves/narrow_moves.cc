// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/moves/narrow_moves.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/graph/constants.h"
#include "tile/graph/rewriter.h"
#include "tile/ir/renumber.h"

namespace tartan::graph {
namespace {

using ir::ValueId;

// Returns whether each element of the result comes from at most one index point.
bool HasOnePointPerElement(const ir::Contraction& contraction) {
  if (contraction.aggregation == Aggregation::kAssign) return true;
  std::set<int> indices;
  for (const math::Affine& index : contraction.output.indices) {
    for (int i = 0; i < static_cast<int>(contraction.index_names.size()); ++i) {
      if (index == math::Affine::Variable(i)) indices.insert(i);
    }
  }
  return contraction.aggregation == Aggregation::kSum &&
         indices.size() == contraction.index_names.size();
}

// Returns whether the value has elements of its operands, or zeros.
bool IsMove(const ir::Value& value) {
  if (const auto* special = std::get_if<ir::Special>(&value.op)) {
    return special->kind == ir::SpecialKind::kReshape;
  }
  const auto* contraction = std::get_if<ir::Contraction>(&value.op);
  return contraction != nullptr && contraction->combination == Combination::kNone &&
         contraction->inputs.size() == 1 && HasOnePointPerElement(*contraction);
}

class Mover {
 public:
  explicit Mover(const ir::Program& program)
      : program_(program),
        rewriter_(program),
        is_constant_(FindConstants(program)),
        narrow_(program.values.size(), ir::kNoValue) {}

  ir::Program Run() && {
    for (size_t v = 0; v < program_.values.size(); ++v) {
      ir::Value value = program_.values[v];
      const std::vector<ValueId> operands = ir::Operands(value.op);
      ir::RenumberOperands(value.op, rewriter_.numbers());
      const auto* elementwise = std::get_if<ir::Elementwise>(&value.op);
      const bool is_cast = elementwise != nullptr && elementwise->op == ScalarOp::kCast;
      if (is_cast && narrow_[operands[0]] != ir::kNoValue &&
          rewriter_.value(narrow_[operands[0]]).shape.type == value.shape.type) {
        rewriter_.ReplaceBy(narrow_[operands[0]]);
        continue;
      }
      if (value.shape.type == DataType::kFloat32) {
        if (is_cast && IsNarrow(rewriter_.value(elementwise->operands[0]).shape.type)) {
          narrow_[v] = elementwise->operands[0];
        } else if (IsMove(value) && !is_constant_[v]) {  // constants are converted at load
          narrow_[v] = Moved(program_.values[v]);
        }
        if (!is_cast && narrow_[v] != ir::kNoValue) {
          value.op = ir::Elementwise{ScalarOp::kCast, {narrow_[v]}};
        }
      }
      rewriter_.Replace(std::move(value));
    }
    return std::move(rewriter_).Finish();
  }

 private:
  static bool IsNarrow(DataType type) {
    return type == DataType::kBFloat16 || type == DataType::kFloat16;
  }

  // Appends the move `original` of the 16-bit values of its operands. Returns kNoValue if they have
  // none, or several types.
  ValueId Moved(const ir::Value& original) {
    std::vector<ValueId> numbers = rewriter_.numbers();
    std::set<DataType> types;
    for (const ValueId operand : ir::Operands(original.op)) {
      if (narrow_[operand] == ir::kNoValue) return ir::kNoValue;
      types.insert(rewriter_.value(narrow_[operand]).shape.type);
      numbers[operand] = narrow_[operand];
    }
    if (types.size() != 1) return ir::kNoValue;
    ir::Value moved = original;
    ir::RenumberOperands(moved.op, numbers);
    moved.shape.type = *types.begin();
    if (!moved.name.empty()) absl::StrAppend(&moved.name, "_narrow");
    return rewriter_.Append(std::move(moved));
  }

  const ir::Program& program_;
  Rewriter rewriter_;
  const std::vector<bool> is_constant_;
  std::vector<ValueId> narrow_;  // by original value: the 16-bit value that it is converted from
};

}  // namespace

ir::Program MoveNarrowValues(const ir::Program& program) { return Mover(program).Run(); }

}  // namespace tartan::graph
