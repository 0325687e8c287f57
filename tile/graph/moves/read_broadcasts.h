// SPDX-License-Identifier: Apache-2.0
// Broadcast elimination: reads keys and values shared by groups of query heads without repeating
// them in memory.
#pragma once

#include "tile/ir/program.h"

namespace tartan::graph {

// Lets contractions read an expanded (broadcast) tensor through its index map.
// If a reshape merges the broadcast dimension with an adjacent one, the merged coordinate has no
// affine map to the original tensor. So the contraction's index is split in two, its other inputs
// are read in two dimensions, and a reshape merges its result.
ir::Program ReadThroughBroadcasts(const ir::Program& program);

}  // namespace tartan::graph
