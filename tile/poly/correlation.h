// SPDX-License-Identifier: Apache-2.0
// Finds out that a kernel is a dense two-dimensional correlation with unit stride: a convolution,
// in any order of dimensions, or the gradient of one by its data.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "tile/poly/flat_contraction.h"

namespace tartan::poly {

// result[b…, y, x, k] = sum over i, j, c of
//   data[b…, y + first[0] + i, x + first[1] + j, c] * weights[i, j, c, k]
// where data is 0 outside begin <= coordinate < end. Indices are those of the kernel; where a
// window is reversed, its index is range - 1 - i in the weights' coordinates.
struct Correlation {
  int data = 0;  // accesses
  int weights = 0;
  // Of the two directions: the position, the window over it, and the data's dimension they move in.
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
  int channel = 0;         // summed over
  int feature = 0;         // of the result
  std::vector<int> batch;  // other output indices
};

// Sums of products of two float32 tensors, both read as they lie, with windows of `window` by
// `window`. Of several orders of the directions that of the data's dimensions is taken.
std::optional<Correlation> MatchCorrelation(const FlatContraction& flat, int64_t window);

}  // namespace tartan::poly
