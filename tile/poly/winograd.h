// SPDX-License-Identifier: Apache-2.0
// Winograd convolution for 3x3 windows, as several kernels. They need a quarter (tiles of 4x4) or
// less than half (2x2) of the multiplications of direct convolution.
// In float32 the error is at most 1e-4 of the result's range. An infinite or NaN element affects
// whole tiles.
#pragma once

#include <optional>

#include "tile/poly/correlation.h"

namespace tartan::poly {

// Elements of the filter window per direction.
inline constexpr int64_t kWinogradWindow = 3;

// Kernels in execution order. Each result is a tensor without a value; so is the last tensor of
// each kernel that reads it (for `products` the last two: data, weights).
struct WinogradKernels {
  // Zero-padded data in whole tiles, channels last; missing if the data already has that form.
  std::optional<FlatContraction> padded;
  FlatContraction data;      // transformed: [points] [batch…, tile row, tile column, channel]
  FlatContraction weights;   // transformed: [points] [channel] [feature]
  FlatContraction products;  // batched matmul: [points] [batch…, tile row, tile column, feature]
  FlatContraction result;    // the original outputs, with the epilogue
};

// `tile`: 2 or 4, outputs per tile and direction.
WinogradKernels MakeWinograd(const FlatContraction& flat, const Correlation& correlation,
                             int64_t tile);

// Number of tiles in a direction.
int64_t TileCount(const FlatContraction& flat, const Correlation::Direction& direction,
                  int64_t tile);

}  // namespace tartan::poly
