// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/grouping/updates.h"

#include <variant>

namespace tartan::graph {

namespace {

// Returns true for a sum of two results of reductions, which one of them can add up.
bool IsSumOfReductions(const ir::Program& program, const ir::Value& value) {
  const auto* sum = std::get_if<ir::Elementwise>(&value.op);
  if (sum == nullptr || sum->op != ScalarOp::kAdd) return false;
  int reductions = 0;
  for (const ir::ValueId operand : sum->operands) {
    const ir::Value& term = program.values[operand];
    const auto* contraction = std::get_if<ir::Contraction>(&term.op);
    if (term.shape != value.shape || IsSumOfReductions(program, term)) continue;
    if (contraction == nullptr || contraction->aggregation != Aggregation::kSum) return false;
    ++reductions;
  }
  return reductions > 0;
}

}  // namespace

std::vector<bool> FindUpdates(const ir::Program& program) {
  const size_t size = program.values.size();
  std::vector<bool> is_update(size, false);
  std::vector<bool> is_changed(size, false);
  bool any = false;
  for (const ir::ValueId input : program.inputs) {
    is_changed[input] = std::get<ir::Input>(program.values[input].op).next >= 0;
    any = any || is_changed[input];
  }
  if (!any) return is_update;
  std::vector<bool> is_used(size, false);
  std::vector<bool> serves_others(size, false);
  for (size_t v = 0; v < size; ++v) {
    const ir::Value& value = program.values[v];
    const bool is_elementwise = std::holds_alternative<ir::Elementwise>(value.op);
    for (const ir::ValueId operand : ir::Operands(value.op)) {
      const bool is_as_large =
          program.values[operand].shape.element_count() == value.shape.element_count();
      if (is_elementwise && is_as_large && (is_changed[operand] || is_update[operand]))
        is_update[v] = true;
    }
  }
  // Backward order: all users of a value are visited before the value.
  for (size_t v = size; v-- > 0;) {
    const bool is_elementwise = std::holds_alternative<ir::Elementwise>(program.values[v].op);
    if (is_elementwise && is_used[v] && !serves_others[v])
      is_update[v] = !IsSumOfReductions(program, program.values[v]);
    for (const ir::ValueId operand : ir::Operands(program.values[v].op)) {
      is_used[operand] = true;
      if (!is_update[v]) serves_others[operand] = true;
    }
  }
  return is_update;
}

}  // namespace tartan::graph
