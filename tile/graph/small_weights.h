// SPDX-License-Identifier: Apache-2.0
// Weights that lie in fewer bytes than the numbers they stand for: integers with scales, or floats
// of 16 bits.
#pragma once

#include <vector>

#include "tile/graph/value_kind.h"
#include "tile/ir/program.h"
#include "tile/poly/build_kernel.h"

namespace tartan::graph {

// Per value. Reductions that use each weight for a few rows only take the time of reading them, so
// the numbers are computed where they are read: none of them is ever in memory. Weights of less
// than a byte would take many times their memory, so CPUs decode them for any number of rows: a
// register tile decodes a vector for all its rows.
struct SmallWeights {
  std::vector<bool> decoded;  // computed in the kernels of the reductions
  std::vector<bool> copied;   // small constants in another order, made once, at load
};

// `kinds` and `is_constant` are per value. `for_many_rows`: weights of less than a byte are decoded
// for any number of rows.
SmallWeights FindSmallWeights(const ir::Program& program, const poly::ProgramSpaces& spaces,
                              const std::vector<Kind>& kinds, const std::vector<bool>& is_constant,
                              bool for_many_rows);

}  // namespace tartan::graph
