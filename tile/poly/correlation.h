// SPDX-License-Identifier: Apache-2.0
// Recognizes dense two-dimensional correlations with unit stride: convolutions in any order of
// dimensions, and their gradients with respect to the data.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "tile/poly/flat_contraction.h"

namespace tartan::poly {

// A correlation in a kernel:
//
//   result[b…, y, x, k] = sum over i, j, c: data[b…, y', x', c] * weights[i, j, c, k]
//   y' = y + first[0] + i; x' = x + first[1] + j
//
// The data is 0 outside begin <= coordinate < end. Members are index positions of the kernel. For a
// reversed window, the weights' coordinate is range - 1 - i.
struct Correlation {
  int data = 0;     // access number
  int weights = 0;  // access number
  // The two spatial directions: output index, window index, and dimension of the data.
  struct Direction {
    int position = 0;
    int window = 0;
    int dim = 0;
    bool reversed = false;
    int64_t first = 0;
    int64_t begin = 0;
    int64_t end = 0;
  };
  std::array<Direction, 2> directions;
  int channel = 0;         // reduced index of the input channels
  int feature = 0;         // output index of the output channels
  std::vector<int> batch;  // other output indices
};

// Matches sums of two multiplied float32 tensors, both read directly, with windows of `window` by
// `window`. Directions are in the order of the data's dimensions.
std::optional<Correlation> MatchCorrelation(const FlatContraction& flat, int64_t window);

}  // namespace tartan::poly
