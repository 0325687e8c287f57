// SPDX-License-Identifier: Apache-2.0
// Limits epilogues: which of their values the reductions that read them compute.
#pragma once

#include <vector>

#include "tile/graph/value_kind.h"
#include "tile/ir/program.h"
#include "tile/poly/build_kernel.h"

namespace tartan::graph {

// Removes from a region what reductions alone read, if its operands there are stored for other
// readers: a reduction computes it at less cost than another stored tensor has. `members`: the
// region's root, then its other values. Returns the removed values.
std::vector<ir::ValueId> LeaveToReductions(
    const ir::Program& program, const poly::ProgramSpaces& spaces, const std::vector<Kind>& kinds,
    const std::vector<std::vector<ir::ValueId>>& users, const std::vector<bool>& is_output,
    std::vector<ir::ValueId>* members, std::vector<ir::ValueId>* regions);

}  // namespace tartan::graph
