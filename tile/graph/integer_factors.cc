// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/integer_factors.h"

#include <set>

namespace tartan::graph {
namespace {

using ir::ValueId;

// Maximum number of values per matmul. Subtracting zero points and padding need fewer; values of
// longer computations may be computed twice per reader, so they stay in memory.
constexpr size_t kMaxValues = 12;

bool IsIntegerMatmul(const ir::Value& value) {
  const auto* contraction = std::get_if<ir::Contraction>(&value.op);
  return contraction != nullptr && contraction->aggregation == Aggregation::kSum &&
         contraction->combination == Combination::kMultiply && value.shape.type == DataType::kInt32;
}

bool IsElementwise(const ir::Program& program, const poly::ProgramSpaces& spaces, ValueId v) {
  const ir::Value& value = program.values[v];
  if (std::holds_alternative<ir::Contraction>(value.op)) return poly::MovesElements(*spaces[v]);
  return std::holds_alternative<ir::Elementwise>(value.op);
}

}  // namespace

std::map<ValueId, std::vector<ValueId>> FindIntegerFactors(const ir::Program& program,
                                                           const poly::ProgramSpaces& spaces) {
  std::map<ValueId, std::vector<ValueId>> factors;
  for (size_t i = 0; i < program.values.size(); ++i) {
    const ValueId root = static_cast<ValueId>(i);
    if (!IsIntegerMatmul(program.values[i]) || poly::MovesElements(*spaces[i])) continue;
    std::set<ValueId> found;
    std::vector<ValueId> open = ir::Operands(program.values[i].op);
    while (!open.empty()) {
      const ValueId v = open.back();
      open.pop_back();
      if (program.values[v].shape.type != DataType::kInt32) continue;
      if (!IsElementwise(program, spaces, v) || !found.insert(v).second) continue;
      for (ValueId operand : ir::Operands(program.values[v].op)) open.push_back(operand);
    }
    if (!found.empty() && found.size() <= kMaxValues) factors[root] = {found.begin(), found.end()};
  }
  return factors;
}

}  // namespace tartan::graph
