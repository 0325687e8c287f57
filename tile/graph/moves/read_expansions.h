// SPDX-License-Identifier: Apache-2.0
// Tensors that are repeated along a dimension, as keys and values are for groups of query heads.
#pragma once

#include "tile/ir/program.h"

namespace tartan::graph {

// The same program where contractions read an expanded tensor through its index map. Where a
// tensor is repeated along a dimension of its own and that dimension then merged with the one
// before, or behind it, by a reshape, no affine map leads from the merged coordinate back; so the
// contraction's index along it becomes two, its other inputs are read in the two dimensions, and
// its result is merged afterwards. Nothing needs to be repeated in memory then.
ir::Program ReadThroughExpansions(const ir::Program& program);

}  // namespace tartan::graph
