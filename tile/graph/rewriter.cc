// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/rewriter.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace tartan::graph {

using ir::ValueId;

ValueId Rewriter::Append(ir::Value value) {
  result_.values.push_back(std::move(value));
  return static_cast<ValueId>(result_.values.size()) - 1;
}

ir::Program Rewriter::Finish() && {
  result_.name = original_.name;
  result_.output_names = original_.output_names;
  for (ValueId input : original_.inputs) result_.inputs.push_back(numbers_[input]);
  for (ValueId output : original_.outputs) result_.outputs.push_back(numbers_[output]);
  return std::move(result_);
}

std::vector<std::vector<ValueId>> UsersOf(const ir::Program& program) {
  std::vector<std::vector<ValueId>> users(program.values.size());
  for (size_t v = 0; v < program.values.size(); ++v) {
    const auto user = static_cast<ValueId>(v);
    for (const ValueId operand : ir::Operands(program.values[v].op)) {
      if (users[operand].empty() || users[operand].back() != user) users[operand].push_back(user);
    }
  }
  return users;
}

ir::Contraction IdentityCopy(ValueId tensor, size_t rank) {
  ir::Contraction copy;
  copy.aggregation = Aggregation::kAssign;
  for (size_t d = 0; d < rank; ++d) {
    copy.index_names.push_back(absl::StrCat("i", d));
    copy.output.indices.push_back(math::Affine::Variable(static_cast<int>(d)));
  }
  copy.inputs.push_back({tensor, copy.output.indices});
  return copy;
}

}  // namespace tartan::graph
