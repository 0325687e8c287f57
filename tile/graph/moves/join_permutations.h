// SPDX-License-Identifier: Apache-2.0
// Results of sums that are stored in another order of dimensions than they are computed in.
#pragma once

#include <vector>

#include "tile/ir/program.h"
#include "tile/poly/analysis/analyze_program.h"

namespace tartan::graph {

// Where a kernel's only result is read by a permutation alone that is to be in memory, and rows
// stay rows, the kernel stores the permuted values: `region`: of each value the root whose kernel
// computes it; `in_memory`: values that are stored.
void JoinPermutations(const ir::Program& program, const poly::ProgramSpaces& spaces,
                      const std::vector<bool>& is_constant, std::vector<ir::ValueId>* region,
                      std::vector<bool>* in_memory);

}  // namespace tartan::graph
