// SPDX-License-Identifier: Apache-2.0
// Reads block-quantized weights block by block, so that kernels can decode them where they read
// them.
#pragma once

#include "tile/ir/program.h"

namespace tartan::graph {

// Removes reshapes that merge the blocks of constant matmul weights.
// The K index of the contraction is split into a block index and an index within the block. The
// contraction then reads the tensor in its blocked shape, so that the decoding (integers times
// scales) can be inlined into the reader.
ir::Program ReadInBlocks(const ir::Program& program);

}  // namespace tartan::graph
