// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/matmul/upcast_float16.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/base/match.h"
#include "tile/graph/matmul/is_matmul.h"
#include "tile/graph/moves/moves_elements.h"
#include "tile/graph/rewriter.h"
#include "tile/ir/renumber.h"
#include "tile/ir/type_rules.h"

namespace tartan::graph {
namespace {

using ir::ValueId;

bool IsFloat16Bits(DataType type) { return ComputeType(type) != type; }

// Returns true for a scatter whose updates replace or are compared with elements.
bool PutsUpdates(const ir::Special& special) {
  if (special.kind != ir::SpecialKind::kScatterElements &&
      special.kind != ir::SpecialKind::kScatterNd) {
    return false;
  }
  const auto mode = static_cast<ir::ScatterMode>(special.params.back());
  return mode != ir::ScatterMode::kAdd && mode != ir::ScatterMode::kMul;
}

// Returns true if each element of the result is an element of the operand, or zero.
bool SelectsElements(const ir::Contraction& contraction) {
  const bool is_extremum =
      contraction.aggregation == Aggregation::kMax || contraction.aggregation == Aggregation::kMin;
  return contraction.default_value == ir::kNoValue &&
         (MovesElements(contraction) || (is_extremum && contraction.inputs.size() == 1));
}

class Upcaster {
 public:
  Upcaster(const ir::Program& program, bool has_matrix_unit)
      : program_(program),
        rewriter_(program),
        has_matrix_unit_(has_matrix_unit),
        is_read_(program.values.size()),
        is_rounded_(program.values.size()) {
    for (size_t v = 0; v < program.values.size(); ++v) {
      const std::vector<ValueId> operands = ir::Operands(program.values[v].op);
      for (const ValueId operand : operands) is_read_[operand] = true;
      if (!has_matrix_unit || !MultipliesFactors(program.values[v])) continue;
      is_rounded_[v] = true;
      for (const ValueId operand : operands) is_rounded_[operand] = true;
    }
    if (has_matrix_unit) RoundSharedValues();
  }

  ir::Program Widen() && {
    for (size_t v = 0; v < program_.values.size(); ++v) {
      ir::Value value = program_.values[v];
      ir::RenumberOperands(value.op, rewriter_.numbers());
      if (IsFloat16Bits(value.shape.type)) {
        auto* special = std::get_if<ir::Special>(&value.op);
        if (special != nullptr && PutsUpdates(*special)) RoundUpdates(value, special);
        value.shape.type = TypeOf(value, is_read_[v]);
        if (is_rounded_[v] && value.shape.type != program_.values[v].shape.type) {
          value = Rounded(rewriter_.Append(std::move(value)), program_.values[v]);
        }
      }
      rewriter_.Replace(std::move(value));
    }
    ir::Program result = std::move(rewriter_).Finish();
    for (size_t o = 0; o < result.outputs.size(); ++o) {
      const ir::Value& original = program_.values[program_.outputs[o]];
      ValueId& output = result.outputs[o];
      if (result.values[output].shape.type == original.shape.type) continue;
      result.values.push_back(Rounded(output, original));
      output = static_cast<ValueId>(result.values.size()) - 1;
    }
    return result;
  }

 private:
  // Returns whether the value is a matmul of one 16-bit type, which a matrix unit multiplies.
  bool MultipliesFactors(const ir::Value& value) const {
    const auto* contraction = std::get_if<ir::Contraction>(&value.op);
    if (contraction == nullptr || !IsMatmul(*contraction)) return false;
    return IsFloat16Bits(value.shape.type) &&
           std::all_of(contraction->inputs.begin(), contraction->inputs.end(),
                       [&](const ir::Access& input) {
                         return program_.values[input.tensor].shape.type == value.shape.type;
                       });
  }

  // Marks results of elementwise operations that several operations read, or one that is not
  // elementwise. Fusion would store them in memory.
  void RoundSharedValues() {
    std::vector<int> readers(program_.values.size(), 0);
    for (const ValueId output : program_.outputs) readers[output] = 2;
    for (size_t v = program_.values.size(); v-- > 0;) {
      const ir::Value& value = program_.values[v];
      const auto* elementwise = std::get_if<ir::Elementwise>(&value.op);
      const bool is_wider = IsCast(value) && value.shape.type == DataType::kFloat32;
      const int uses = elementwise == nullptr ? 2 : is_wider ? readers[v] : 1;
      for (const ValueId operand : ir::Operands(value.op)) readers[operand] += uses;
      if (elementwise == nullptr || !IsFloat16Bits(value.shape.type) || IsCast(value)) continue;
      if (readers[v] > 1 && !ir::EnlargesRoundingErrors(*elementwise)) is_rounded_[v] = true;
    }
  }

  static ir::Value Rounded(ValueId wide, const ir::Value& original) {
    return {absl::StrCat(original.name, "_rounded"), original.shape,
            ir::Elementwise{ScalarOp::kCast, {wide}}};
  }

  // Rounds the updates to the type of the scatter's result.
  void RoundUpdates(const ir::Value& scatter, ir::Special* special) {
    ValueId& updates = special->operands[2];
    ir::Value original = rewriter_.value(updates);
    if (original.shape.type == scatter.shape.type) return;
    original.shape.type = scatter.shape.type;
    updates = rewriter_.Append(Rounded(updates, original));
  }

  // Returns the new type of a 16-bit value. Requires that its operands are already rewritten.
  DataType TypeOf(const ir::Value& value, bool is_read) const {
    const DataType own = value.shape.type;
    return Match(
        value.op, [&](const ir::Input&) { return own; },
        [&](const ir::Elementwise& elementwise) {
          return elementwise.op == ScalarOp::kCast ? own : ComputeType(own);
        },
        [&](const ir::Special& special) {
          const bool hands_on = special.kind == ir::SpecialKind::kReshape ||
                                special.kind == ir::SpecialKind::kSort || PutsUpdates(special);
          if (hands_on) return rewriter_.value(special.operands[0]).shape.type;
          const bool is_running_sum =
              special.kind == ir::SpecialKind::kCumSum || special.kind == ir::SpecialKind::kCumProd;
          return is_running_sum && !is_read ? own : ComputeType(own);
        },
        [&](const ir::Contraction& contraction) {
          const bool hands_on = has_matrix_unit_ && SelectsElements(contraction);
          return hands_on ? rewriter_.value(contraction.inputs[0].tensor).shape.type
                          : ComputeType(own);
        },
        [&](const auto&) { return ComputeType(own); });
  }

  const ir::Program& program_;
  Rewriter rewriter_;
  const bool has_matrix_unit_;
  std::vector<bool> is_read_;     // by an operation of the program
  std::vector<bool> is_rounded_;  // stored in 16 bits
};

}  // namespace

ir::Program UpcastFloat16(const ir::Program& program, bool has_matrix_unit) {
  const bool has_halves =
      std::any_of(program.values.begin(), program.values.end(),
                  [](const ir::Value& value) { return IsFloat16Bits(value.shape.type); });
  return has_halves ? Upcaster(program, has_matrix_unit).Widen() : program;
}

}  // namespace tartan::graph
