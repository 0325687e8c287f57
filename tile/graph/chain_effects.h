// SPDX-License-Identifier: Apache-2.0
// What follows from chains of kernels over rows for the program around them: the order of kernels,
// and the values worth keeping.
#pragma once

#include <set>
#include <vector>

#include "tile/graph/group_graph.h"
#include "tile/ir/kernel_group.h"
#include "tile/ir/program.h"

namespace tartan::graph {

// A chain is told by the positions of its groups in Grouping::groups.
using ChainGroups = std::vector<int>;

// Something outside of the groups that takes what one of them gives, gives one of them something in
// turn, by way of other chains, too: these groups cannot be one launch.
bool WaitsForItself(const GroupGraph& graph, const std::set<int>& groups,
                    const std::vector<ChainGroups>& chains);

// Some group of the chain reads what the group gives, and none does so by way of another.
bool FeedsDirectly(const GroupGraph& graph, int group, const std::set<int>& chain);

// An order in which the groups can run with those of a chain one behind the other.
std::vector<int> OrderWithChains(const ir::Program& program, const ir::Grouping& grouping,
                                 const std::vector<ChainGroups>& chains);

// Values that several kernels of one chain compute each for itself and that cost much: held in
// memory, they are computed once.
std::vector<ir::ValueId> RepeatedInChains(const ir::Program& program, const ir::Grouping& grouping,
                                          const std::vector<ChainGroups>& chains);

}  // namespace tartan::graph
