// SPDX-License-Identifier: Apache-2.0
// Which way round intermediate results of convolutions lie in memory. Models come with channels as
// dimension 1, in front of the spatial ones; kernels are quicker where channels are neighbours.
#pragma once

#include "tile/ir/program.h"

namespace tartan::graph {

// The same program with dimension 1 of intermediate values moved behind the others: of results of
// convolutions (sums of products that run over the spatial dimensions of one factor) with at least
// eight channels, and of what elementwise operations, pools, slices and concatenations make of
// them, unless nothing that could use it so follows. Inputs, outputs and what reshapes read keep
// their order; copies are put where both meet. Every element is computed as before, in the same
// order, but for products of flattened images with constant matrices, which are put into the
// images' order (products/flattened_rows.h).
ir::Program MoveChannelsLast(const ir::Program& program);

}  // namespace tartan::graph
