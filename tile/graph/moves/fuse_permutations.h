// SPDX-License-Identifier: Apache-2.0
// Fuses a transpose of a reduction's result into the store of the reduction's kernel.
#pragma once

#include <vector>

#include "tile/ir/program.h"
#include "tile/poly/analysis/analyze_program.h"

namespace tartan::graph {

// If only a stored permutation reads the single result of a kernel, and the last dimension stays
// last, the kernel stores the permuted values. `region`: per value, the root whose kernel computes
// it. `in_memory`: per value, whether it is stored.
void FusePermutations(const ir::Program& program, const poly::ProgramSpaces& spaces,
                      const std::vector<bool>& is_constant, std::vector<ir::ValueId>* region,
                      std::vector<bool>* in_memory);

}  // namespace tartan::graph
