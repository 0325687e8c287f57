// SPDX-License-Identifier: Apache-2.0
#include "tile/ir/renumber.h"

#include <utility>

#include "tile/base/match.h"

namespace tartan::ir {
namespace {

void Renumber(ValueId& id, const std::vector<ValueId>& map) {
  if (id != kNoValue) id = map[id];
}

}  // namespace

void RenumberOperands(Op& op, const std::vector<ValueId>& map) {
  Match(
      op, [](Input&) {}, [](Constant&) {},
      [&](Elementwise& x) {
        for (ValueId& id : x.operands) Renumber(id, map);
      },
      [&](Contraction& x) {
        for (Access& input : x.inputs) Renumber(input.tensor, map);
        Renumber(x.default_value, map);
      },
      [&](Special& x) {
        for (ValueId& id : x.operands) Renumber(id, map);
      });
}

Program WithoutDeadValues(Program program) {
  std::vector<bool> live(program.values.size());
  for (const ValueId id : program.inputs) live[id] = true;
  for (const ValueId id : program.outputs) live[id] = true;
  for (size_t i = program.values.size(); i-- > 0;) {
    if (!live[i]) continue;
    for (const ValueId operand : Operands(program.values[i].op)) live[operand] = true;
  }
  std::vector<ValueId> map(program.values.size(), kNoValue);
  std::vector<Value> values;
  for (size_t i = 0; i < program.values.size(); ++i) {
    if (!live[i]) continue;
    map[i] = static_cast<ValueId>(values.size());
    RenumberOperands(program.values[i].op, map);
    values.push_back(std::move(program.values[i]));
  }
  program.values = std::move(values);
  for (ValueId& id : program.inputs) Renumber(id, map);
  for (ValueId& id : program.outputs) Renumber(id, map);
  return program;
}

Program WithoutCustomGradients(Program program) {
  std::vector<ValueId> map(program.values.size());
  for (size_t i = 0; i < program.values.size(); ++i) {
    Op& op = program.values[i].op;
    RenumberOperands(op, map);
    const auto* special = std::get_if<Special>(&op);
    const bool is_rule = special != nullptr && special->kind == SpecialKind::kCustomGradient;
    map[i] = is_rule ? special->operands[0] : static_cast<ValueId>(i);
  }
  for (ValueId& output : program.outputs) Renumber(output, map);
  return WithoutDeadValues(std::move(program));
}

}  // namespace tartan::ir
