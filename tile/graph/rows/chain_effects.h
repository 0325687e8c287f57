// SPDX-License-Identifier: Apache-2.0
// Effects of row chains on the rest of the program: execution order of kernels, and values worth
// storing.
#pragma once

#include <set>
#include <vector>

#include "tile/graph/grouping/group_graph.h"
#include "tile/ir/kernel_group.h"
#include "tile/ir/program.h"

namespace tartan::graph {

// Positions of a chain's groups in Grouping::groups.
using ChainGroups = std::vector<int>;

// Returns true if fusing the groups would create a cycle: a group outside reads their results and
// feeds one of them, possibly through other chains.
bool CreatesCycle(const GroupGraph& graph, const std::set<int>& groups,
                  const std::vector<ChainGroups>& chains);

// Returns true if a group of the chain reads the group's results and no path to the chain leads
// through a third group.
bool FeedsDirectly(const GroupGraph& graph, int group, const std::set<int>& chain);

// Returns an execution order of all groups in which the groups of each chain are adjacent.
std::vector<int> OrderWithRowChains(const ir::Program& program, const ir::Grouping& grouping,
                                    const std::vector<ChainGroups>& chains);

// Returns costly values that several kernels of one chain would each compute. Storing them computes
// them once.
std::vector<ir::ValueId> RepeatedInChains(const ir::Program& program, const ir::Grouping& grouping,
                                          const std::vector<ChainGroups>& chains);

}  // namespace tartan::graph
