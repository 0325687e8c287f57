// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/constants.h"

namespace tartan::graph {

std::vector<bool> FindConstants(const ir::Program& program) {
  std::vector<bool> is_constant;
  for (const ir::Value& value : program.values) {
    const auto* input = std::get_if<ir::Input>(&value.op);
    is_constant.push_back(input == nullptr || input->is_constant);
    for (ir::ValueId operand : ir::Operands(value.op)) {
      if (!is_constant[operand]) is_constant.back() = false;
    }
  }
  return is_constant;
}

}  // namespace tartan::graph
