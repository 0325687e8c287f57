// What follows from chains of kernels over rows for the program around them: the order of kernels,
// and the values worth keeping.
#pragma once

#include <vector>

#include "tile/graph/chain_groups.h"
#include "tile/ir/kernel_group.h"
#include "tile/ir/program.h"

namespace tartan::graph {

// An order in which the groups can run with those of a chain one behind the other.
std::vector<int> OrderWithChains(const ir::Program& program, const ir::Grouping& grouping,
                                 const std::vector<RowChain>& chains);

// Values that several kernels of one chain compute each for itself and that cost much: held in
// memory, they are computed once.
std::vector<ir::ValueId> RepeatedInChains(const ir::Program& program, const ir::Grouping& grouping,
                                          const std::vector<RowChain>& chains);

}  // namespace tartan::graph
