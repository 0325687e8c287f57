// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/moves/narrow_moves.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/graph/constants.h"
#include "tile/graph/moves/moves_elements.h"
#include "tile/graph/rewriter.h"
#include "tile/ir/renumber.h"

namespace tartan::graph {
namespace {

using ir::ValueId;

bool IsNarrow(DataType type) { return type == DataType::kBFloat16 || type == DataType::kFloat16; }

// Returns by value the 16-bit type to which all its readers, moves of it included, round it. The
// type is float32 if there is none.
std::vector<DataType> FindRoundedTypes(const ir::Program& program) {
  std::vector<DataType> rounded(program.values.size(), DataType::kFloat32);
  std::vector<std::set<DataType>> readers(program.values.size());
  for (const ValueId output : program.outputs) readers[output].insert(DataType::kFloat32);
  for (auto v = static_cast<ValueId>(program.values.size()) - 1; v >= 0; --v) {
    const ir::Value& value = program.values[v];
    if (value.shape.type == DataType::kFloat32 && readers[v].size() == 1) {
      rounded[v] = *readers[v].begin();
    }
    const bool narrows = IsCast(value) && IsNarrow(value.shape.type);
    const DataType read = narrows                ? value.shape.type
                          : MovesElements(value) ? rounded[v]
                                                 : DataType::kFloat32;
    for (const ValueId operand : ir::Operands(value.op)) readers[operand].insert(read);
  }
  return rounded;
}

class Mover {
 public:
  explicit Mover(const ir::Program& program)
      : program_(program),
        rewriter_(program),
        is_constant_(FindConstants(program)),
        rounded_types_(FindRoundedTypes(program)),
        narrow_(program.values.size(), ir::kNoValue) {}

  ir::Program Run() && {
    for (size_t v = 0; v < program_.values.size(); ++v) {
      ir::Value value = program_.values[v];
      const std::vector<ValueId> operands = ir::Operands(value.op);
      ir::RenumberOperands(value.op, rewriter_.numbers());
      const bool is_cast = IsCast(value);
      if (is_cast && narrow_[operands[0]] != ir::kNoValue &&
          rewriter_.value(narrow_[operands[0]]).shape.type == value.shape.type) {
        rewriter_.ReplaceBy(narrow_[operands[0]]);
        continue;
      }
      if (value.shape.type == DataType::kFloat32) {
        const ValueId operand = is_cast ? ir::Operands(value.op)[0] : ir::kNoValue;
        if (is_cast && IsNarrow(rewriter_.value(operand).shape.type)) {
          narrow_[v] = operand;
        } else if (MovesElements(value) && !is_constant_[v]) {  // constants are converted at load
          narrow_[v] = Moved(program_.values[v], rounded_types_[v]);
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
  // Appends the move `original` of the 16-bit values of its operands. Operands without one are
  // rounded to `rounded_type` if that has 16 bits. Returns kNoValue if there are other operands, or
  // several types.
  ValueId Moved(const ir::Value& original, DataType rounded_type) {
    std::vector<ValueId> numbers = rewriter_.numbers();
    std::set<DataType> types;
    for (const ValueId operand : ir::Operands(original.op)) {
      if (narrow_[operand] != ir::kNoValue) {
        numbers[operand] = narrow_[operand];
      } else if (IsNarrow(rounded_type)) {
        numbers[operand] = Rounded(operand, rounded_type);
      } else {
        return ir::kNoValue;
      }
      types.insert(rewriter_.value(numbers[operand]).shape.type);
    }
    if (types.size() != 1) return ir::kNoValue;
    ir::Value moved = original;
    ir::RenumberOperands(moved.op, numbers);
    moved.shape.type = *types.begin();
    if (!moved.name.empty()) absl::StrAppend(&moved.name, "_narrow");
    return rewriter_.Append(std::move(moved));
  }

  // Returns the value `operand` of the original program in the 16-bit type.
  ValueId Rounded(ValueId operand, DataType type) {
    const auto [place, is_new] = rounded_.try_emplace({operand, type}, ir::kNoValue);
    if (!is_new) return place->second;
    ir::Value cast;
    cast.shape = {type, program_.values[operand].shape.dims};
    cast.op = ir::Elementwise{ScalarOp::kCast, {rewriter_.numbers()[operand]}};
    const std::string& name = program_.values[operand].name;
    if (!name.empty()) cast.name = absl::StrCat(name, "_narrow");
    return place->second = rewriter_.Append(std::move(cast));
  }

  const ir::Program& program_;
  Rewriter rewriter_;
  const std::vector<bool> is_constant_;
  const std::vector<DataType> rounded_types_;
  std::map<std::pair<ValueId, DataType>, ValueId> rounded_;
  std::vector<ValueId> narrow_;  // by original value: the 16-bit value that it is converted from
};

}  // namespace

ir::Program MoveNarrowValues(const ir::Program& program) { return Mover(program).Run(); }

}  // namespace tartan::graph
