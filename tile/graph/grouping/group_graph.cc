// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/grouping/group_graph.h"

namespace tartan::graph {

using ir::ValueId;

GroupGraph::GroupGraph(const ir::Program& program, const ir::Grouping& grouping)
    : group_of_(program.values.size(), -1),
      computed_(grouping.groups.size()),
      producers_(grouping.groups.size()),
      consumers_(grouping.groups.size()) {
  for (int g = 0; g < group_count(); ++g) {
    for (ValueId output : grouping.groups[g].outputs) group_of_[output] = g;
  }
  for (int g = 0; g < group_count(); ++g) {
    if (grouping.groups[g].root != ir::kNoValue) {
      Visit(program, grouping, g, grouping.groups[g].root);
    }
    for (ValueId output : grouping.groups[g].outputs) Visit(program, grouping, g, output);
  }
}

void GroupGraph::Visit(const ir::Program& program, const ir::Grouping& grouping, int group,
                       ValueId value) {
  const bool is_own = value == grouping.groups[group].root || group_of_[value] == group;
  if (grouping.in_memory[value] && !is_own) {
    // A piece of a concatenation is stored in the memory of the last piece.
    const int own = group_of_[value];
    const int producer = own >= 0 ? own : group_of_[grouping.storage[value]];
    if (producer < 0) return;  // an input
    if (producer != group) {
      producers_[group].insert(producer);
      consumers_[producer].insert(group);
      return;
    }
  }
  if (!computed_[group].insert(value).second) return;
  for (ValueId operand : ir::Operands(program.values[value].op)) {
    Visit(program, grouping, group, operand);
  }
}

}  // namespace tartan::graph
