// SPDX-License-Identifier: Apache-2.0
// Products with weights that are computed in blocks.
#pragma once

#include "tile/ir/program.h"

namespace tartan::graph {

// The same program where sums read constant factors that are reshaped, so that blocks along the sum
// become one dimension, as they were before: the index along it becomes one of the block and one
// within it. What is computed block by block, numbers times scales, can then be computed where it
// is read.
ir::Program ReadInBlocks(const ir::Program& program);

}  // namespace tartan::graph
