// SPDX-License-Identifier: Apache-2.0
// Contractions that write every s-th element of their result, as gradients of 1x1 convolutions
// with strides do.
#pragma once

#include <vector>

#include "tile/autodiff/emitter.h"

namespace tartan::autodiff {

// Emits the contraction as Emitter::Contract does. A sum of multiplied values that leaves gaps
// along a dimension becomes a dense contraction and a move, so that no kernel computes the gaps.
ValueId ContractWithGaps(Emitter& emit, ir::Contraction contraction, std::vector<int64_t> dims);

}  // namespace tartan::autodiff
