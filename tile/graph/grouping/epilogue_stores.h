// SPDX-License-Identifier: Apache-2.0
// Chooses which values of an epilogue are stored, and which of them other kernels recompute.
#pragma once

#include <vector>

#include "tile/graph/value_kind.h"
#include "tile/ir/program.h"
#include "tile/poly/build_kernel.h"

namespace tartan::graph {

// The properties of each value on which the choice depends.
struct EpilogueValues {
  const ir::Program& program;
  const poly::ProgramSpaces& spaces;
  const std::vector<Kind>& kinds;
  const std::vector<std::vector<ir::ValueId>>& users;
  const std::vector<ir::ValueId>& regions;  // the reduction whose kernel computes the value
  const std::vector<ir::ValueId>& narrow;   // the narrower value that it is cast from
  const std::vector<bool>& in_memory;       // stored for another reason
};

// Returns the values of all epilogues to store for other kernels. A chain of elementwise operations
// on one stored value of the epilogue is recomputed by its readers, if that moves fewer bytes: the
// backward pass of an activation reads its operand alone. `max_operations`: maximum operations of
// such a chain.
std::vector<ir::ValueId> StoresOfEpilogues(const EpilogueValues& in, int max_operations);

}  // namespace tartan::graph
