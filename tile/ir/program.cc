// SPDX-License-Identifier: Apache-2.0
#include "tile/ir/program.h"

#include "tile/base/match.h"

namespace tartan::ir {

bool operator==(const Access& a, const Access& b) {
  return a.tensor == b.tensor && a.indices == b.indices;
}

bool operator==(const Special& a, const Special& b) {
  const bool same_rule =
      a.rule == b.rule || (a.rule != nullptr && b.rule != nullptr && *a.rule == *b.rule);
  return a.kind == b.kind && a.operands == b.operands && a.params == b.params && same_rule;
}

absl::string_view Name(SpecialKind kind) {
  constexpr absl::string_view kNames[] = {
      "reshape",   "index",          "gather",           "gather_elements",
      "gather_nd", "scatter",        "scatter_elements", "scatter_nd",
      "sort",      "argsort",        "cumsum",           "cumprod",
      "prng",      "custom_gradient"};
  return kNames[static_cast<size_t>(kind)];
}

std::vector<ValueId> Operands(const Op& op) {
  return Match(
      op, [](const Elementwise& elementwise) { return elementwise.operands; },
      [](const Special& special) { return special.operands; },
      [](const Contraction& contraction) {
        std::vector<ValueId> operands;
        for (const Access& access : contraction.inputs) operands.push_back(access.tensor);
        if (contraction.default_value != kNoValue) operands.push_back(contraction.default_value);
        return operands;
      },
      [](const auto&) { return std::vector<ValueId>(); });
}

std::vector<int> UseCounts(const Program& program) {
  std::vector<int> counts(program.values.size(), 0);
  for (const Value& value : program.values) {
    for (ValueId operand : Operands(value.op)) ++counts[operand];
  }
  for (ValueId output : program.outputs) ++counts[output];
  return counts;
}

}  // namespace tartan::ir
