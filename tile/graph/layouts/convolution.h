// SPDX-License-Identifier: Apache-2.0
// Recognizes convolutions among contractions.
#pragma once

#include <optional>

#include "tile/ir/program.h"

namespace tartan::graph {

// Returns true if some index has a nonzero coefficient in both affine functions.
bool ShareVariable(const math::Affine& a, const math::Affine& b);

// A contraction that AsConvolution recognized, with the roles of its inputs.
struct Convolution {
  const ir::Contraction* contraction = nullptr;
  int data = 0;      // position among the contraction's inputs
  int weights = 1;   // position of the other input
  int channels = 1;  // the channel dimension of the data and of the result
};

// Recognizes sums of elementwise multiplications that cover every dimension of the data except the
// channels. Channels are dimension 1 or the last one, and the output channels come from the
// weights.
// Matches dense, grouped, depthwise and transposed convolutions with any number of spatial
// dimensions, and their gradients with respect to the data.
std::optional<Convolution> AsConvolution(const ir::Value& value);

}  // namespace tartan::graph
