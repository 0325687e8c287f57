// SPDX-License-Identifier: Apache-2.0
// Winograd's algorithm for 3x3 correlations: kernels that together compute what a direct one does,
// with a quarter (tiles of 4x4) or less than half (2x2) of its multiplications. In float32 the
// result is off by at most 1e-4 of its range; an infinite or NaN element spreads over whole tiles.
#pragma once

#include <optional>

#include "tile/poly/correlation.h"

namespace tartan::poly {

inline constexpr int64_t kWinogradWindow = 3;

// In the order in which they run. Each result is a tensor without a value, and so is, as the last
// of its tensors, each operand that a kernel before computes (of `products` the last two:
// transformed data and weights).
struct WinogradKernels {
  // The data with zeros around it, whole tiles, channels last; missing where the data is so.
  std::optional<FlatContraction> padded;
  FlatContraction data;      // transformed: [points] [batch…, tile row, tile column, channel]
  FlatContraction weights;   // transformed: [points] [channel] [feature]
  FlatContraction products;  // [points] [batch…, tile row, tile column, feature]
  FlatContraction result;    // what the original stores, with its epilogue
};

// `tile`: 2 or 4, outputs of a tile in either direction.
WinogradKernels MakeWinograd(const FlatContraction& flat, const Correlation& correlation,
                             int64_t tile);

// Tiles in a direction.
int64_t TileCount(const FlatContraction& flat, const Correlation::Direction& direction,
                  int64_t tile);

}  // namespace tartan::poly
