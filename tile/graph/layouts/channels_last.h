// SPDX-License-Identifier: Apache-2.0
// Layout pass for convolutions: moves intermediate tensors from channels-first, as models have
// them, to channels-last, which kernels compute faster.
#pragma once

#include "tile/ir/program.h"

namespace tartan::graph {

// Moves dimension 1 (channels) of intermediate values after the spatial dimensions.
//
// - Starts at results of convolutions (AsConvolution) with eight channels or more.
// - Follows elementwise operations, pooling, slices and concatenations.
// - Stops at values whose consumers all need the original order.
// - Inputs, outputs and operands of reshapes keep their order. Copies convert between the orders.
//
// Every element is computed as before, in the same order, except for matmuls of flattened images
// with constant matrices: the matrices are reordered instead (matmul/flattened_rows.h).
ir::Program MoveChannelsLast(const ir::Program& program);

}  // namespace tartan::graph
