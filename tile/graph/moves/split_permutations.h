// SPDX-License-Identifier: Apache-2.0
// Rewrites permutations between two reshapes, as PyTorch exports batched attention heads:
//   [rows, batch, heads * size] -> [rows, batch * heads, size] -> permuted -> [batch, heads, …].
#pragma once

#include "tile/ir/program.h"

namespace tartan::graph {

// Permutes the common dimensions of both reshapes instead, so that the first reshape only splits
// dimensions and the second changes nothing. A merged dimension has no affine map back, so a tensor
// merged before its permutation would have to be in memory.
ir::Program SplitPermutations(const ir::Program& program);

}  // namespace tartan::graph
