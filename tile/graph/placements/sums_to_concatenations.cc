// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/placements/sums_to_concatenations.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "tile/graph/placements/pieces.h"
#include "tile/graph/rewriter.h"
#include "tile/ir/renumber.h"

namespace tartan::graph {
namespace {

using ir::ValueId;
using math::Affine;

// Minimum number of terms of a sum to rewrite. Empirical.
constexpr size_t kMinPlacements = 3;

class SumToConcatenation {
 public:
  explicit SumToConcatenation(const ir::Program& program)
      : program_(program), uses_(ir::UseCounts(program)), rewriter_(program) {
    for (const ValueId output : program.outputs) ++uses_[output];
  }

  ir::Program Run() {
    const size_t size = program_.values.size();
    // Sums that are terms of a larger sum are handled as part of it.
    std::vector<bool> is_part(size, false);
    for (const ir::Value& value : program_.values) {
      if (!IsSum(value)) continue;
      for (const ValueId operand : ir::Operands(value.op)) {
        if (IsSumOf(operand, value)) is_part[operand] = true;
      }
    }
    bool any = false;
    for (size_t v = 0; v < size; ++v) {
      const ir::Value& original = program_.values[v];
      ir::Value value = original;
      ir::RenumberOperands(value.op, rewriter_.numbers());
      if (IsSum(original) && !is_part[v] && Join(static_cast<ValueId>(v), &value)) any = true;
      rewriter_.Replace(std::move(value));
    }
    if (!any) return program_;
    return ir::WithoutDeadValues(std::move(rewriter_).Finish());
  }

 private:
  static bool IsSum(const ir::Value& value) {
    const auto* elementwise = std::get_if<ir::Elementwise>(&value.op);
    return elementwise != nullptr && elementwise->op == ScalarOp::kAdd && IsFloat(value.shape.type);
  }

  // Returns true for a sum of the same shape whose only reader is `sum`.
  bool IsSumOf(ValueId operand, const ir::Value& sum) const {
    const ir::Value& value = program_.values[operand];
    return IsSum(value) && uses_[operand] == 1 && value.shape == sum.shape;
  }

  // Returns the terms in order; nothing if a term is no placement or has another user.
  std::optional<std::vector<ValueId>> TermsOf(ValueId root) const {
    std::vector<ValueId> terms;
    std::vector<ValueId> open = {root};
    while (!open.empty()) {
      const ValueId v = open.back();
      open.pop_back();
      const std::vector<ValueId> operands = ir::Operands(program_.values[v].op);
      for (size_t i = operands.size(); i-- > 0;) {
        const ir::Value& term = program_.values[operands[i]];
        if (IsSumOf(operands[i], program_.values[root])) {
          open.push_back(operands[i]);
        } else if (uses_[operands[i]] == 1 && term.shape == program_.values[root].shape &&
                   std::holds_alternative<ir::Contraction>(term.op)) {
          terms.push_back(operands[i]);
        } else {
          return std::nullopt;
        }
      }
    }
    std::sort(terms.begin(), terms.end());
    return terms;
  }

  // Rewrites `value` as the last piece and inserts the other pieces before it.
  bool Join(ValueId root, ir::Value* value) {
    const std::optional<std::vector<ValueId>> terms = TermsOf(root);
    if (!terms || terms->size() < kMinPlacements) return false;
    std::vector<Box> boxes;
    for (const ValueId term : *terms) {
      const ir::Value& placement = program_.values[term];
      const std::optional<Box> box = BoxOf(program_, placement);
      if (!box || std::get<ir::Contraction>(placement.op).default_value != ir::kNoValue)
        return false;
      boxes.push_back(*box);
    }
    if (!DoNotOverlap(boxes)) return false;
    ValueId before = ir::kNoValue;
    for (const ValueId term : *terms) {
      ir::Value piece = program_.values[term];
      ir::RenumberOperands(piece.op, rewriter_.numbers());
      auto& contraction = std::get<ir::Contraction>(piece.op);
      contraction.aggregation = Aggregation::kAssign;
      contraction.default_value = before;
      if (term == terms->back()) {
        value->op = piece.op;
      } else {
        before = rewriter_.Append(std::move(piece));
      }
    }
    return true;
  }

  const ir::Program& program_;
  std::vector<int> uses_;
  Rewriter rewriter_;
};

}  // namespace

ir::Program SumsToConcatenations(const ir::Program& program) {
  return SumToConcatenation(program).Run();
}

}  // namespace tartan::graph
