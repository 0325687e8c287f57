// SPDX-License-Identifier: Apache-2.0
// Convolutions among contractions.
#pragma once

#include <optional>

#include "tile/ir/program.h"

namespace tartan::graph {

// Both polynomials depend on one index at least.
bool ShareVariable(const math::Affine& a, const math::Affine& b);

struct Convolution {
  const ir::Contraction* contraction = nullptr;
  int data = 0;      // position among its inputs
  int weights = 1;   // of the other input
  int channels = 1;  // the dimension that they are in the data and in the result
};

// A sum of products that runs over every dimension of one factor, the data, but the channels, which
// are dimension 1 or the last and which the other factor brings: dense, grouped, depthwise and
// transposed convolutions of any number of spatial dimensions, and their gradients by the data.
std::optional<Convolution> AsConvolution(const ir::Value& value);

}  // namespace tartan::graph
