// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/matmul/narrow_operands.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/graph/constants.h"
#include "tile/graph/matmul/is_matmul.h"
#include "tile/graph/moves/moves_elements.h"
#include "tile/graph/rewriter.h"
#include "tile/ir/renumber.h"

namespace tartan::graph {
namespace {

using ir::ValueId;

constexpr int64_t kMinElements = 1024;  // below this, a conversion does not pay; empirical

// Returns true for reshapes and copies, which only move elements of one tensor.
bool IsMove(const ir::Value& value) {
  const auto* contraction = std::get_if<ir::Contraction>(&value.op);
  const bool has_default = contraction != nullptr && contraction->default_value != ir::kNoValue;
  return MovesElements(value) && !has_default;
}

class Narrower {
 public:
  Narrower(const ir::Program& program, DataType type)
      : program_(program), type_(type), rewriter_(program) {
    const size_t size = program.values.size();
    std::vector<bool> is_factor(size, true);  // only matmuls read it
    for (const ValueId output : program.outputs) is_factor[output] = false;
    std::vector<bool> is_read(size, false);
    // Backward order: readers first.
    for (size_t v = size; v-- > 0;) {
      const ir::Value& value = program.values[v];
      is_factor[v] = is_factor[v] && is_read[v] && value.shape.type == DataType::kFloat32;
      const auto* contraction = std::get_if<ir::Contraction>(&value.op);
      const bool hands_on = IsMove(value) ? is_factor[v]
                                          : contraction != nullptr && IsMatmul(*contraction) &&
                                                value.shape.type == DataType::kFloat32;
      for (const ValueId operand : ir::Operands(value.op)) {
        is_read[operand] = true;
        if (!hands_on) is_factor[operand] = false;
      }
    }
    const std::vector<bool> is_constant = FindConstants(program);
    is_narrow_.assign(size, false);
    begins_.assign(size, false);
    for (size_t v = 0; v < size; ++v) {
      const ir::Value& value = program.values[v];
      if (!is_factor[v]) continue;
      if (IsMove(value)) {
        is_narrow_[v] = is_narrow_[ir::Operands(value.op).front()];
      } else {
        const bool is_made = !std::holds_alternative<ir::Input>(value.op) && !is_constant[v];
        begins_[v] = is_made && value.shape.element_count() >= kMinElements;
        is_narrow_[v] = begins_[v];
      }
    }
  }

  ir::Program Run(std::vector<ValueId>* held) {
    if (std::find(begins_.begin(), begins_.end(), true) == begins_.end()) return program_;
    for (size_t v = 0; v < program_.values.size(); ++v) {
      ir::Value value = program_.values[v];
      ir::RenumberOperands(value.op, rewriter_.numbers());
      const ValueId rounded = begins_[v] ? RoundedForm(program_.values[v]) : ir::kNoValue;
      if (rounded != ir::kNoValue) {
        rewriter_.ReplaceBy(rewriter_.numbers()[rounded]);
        continue;
      }
      if (begins_[v]) {
        TensorShape shape = value.shape;
        const std::string name = absl::StrCat(value.name, "_narrow");
        const ValueId wide = rewriter_.Append(std::move(value));
        shape.type = type_;
        value = {name, std::move(shape), ir::Elementwise{ScalarOp::kCast, {wide}}};
      } else if (is_narrow_[v]) {
        value.shape.type = type_;
      }
      rewriter_.Replace(std::move(value));
    }
    if (held != nullptr) {
      for (ValueId& value : *held) value = rewriter_.numbers()[value];
    }
    return std::move(rewriter_).Finish();
  }

 private:
  // Returns the computed value that `value` upcasts from the 16-bit type; kNoValue if none.
  ValueId RoundedForm(const ir::Value& value) const {
    const auto* cast = std::get_if<ir::Elementwise>(&value.op);
    if (cast == nullptr || cast->op != ScalarOp::kCast) return ir::kNoValue;
    const ir::Value& operand = program_.values[cast->operands[0]];
    const bool is_made = !std::holds_alternative<ir::Input>(operand.op);
    return is_made && operand.shape.type == type_ ? cast->operands[0] : ir::kNoValue;
  }

  const ir::Program& program_;
  const DataType type_;
  Rewriter rewriter_;
  std::vector<bool> is_narrow_;
  std::vector<bool> begins_;  // the conversion is inserted here
};

}  // namespace

ir::Program NarrowMatmulOperands(const ir::Program& program, DataType type,
                                 std::vector<ir::ValueId>* held) {
  return Narrower(program, type).Run(held);
}

}  // namespace tartan::graph
