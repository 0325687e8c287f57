// SPDX-License-Identifier: Apache-2.0
// Permutations between two reshapes, as PyTorch exports heads of a batch:
//   [rows, batch, heads * size] -> [rows, batch * heads, size] -> permuted -> [batch, heads, …].
#pragma once

#include "tile/ir/program.h"

namespace tartan::graph {

// The same program where such a permutation is one of the dimensions that both reshapes have: the
// first one only splits dimensions then, and the second one leaves them as they are. A merged
// dimension has no affine map back, so what is merged before it is permuted has to lie in memory.
ir::Program SplitPermutations(const ir::Program& program);

}  // namespace tartan::graph
