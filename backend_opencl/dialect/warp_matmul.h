// SPDX-License-Identifier: Apache-2.0
// Generates the multiplication of two tiles in local memory with warp-level tensor core
// instructions (`ldmatrix`, `mma.sync`: NVIDIA Ampere and later).
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "tile/base/mma_tile.h"

namespace tartan::opencl {

// Returns statements that add the matmul of 64 rows of `left` and all columns of `right` to
// `total`. Four warps compute 16 rows each. A work-item holds the same accumulators as with
// Hopper's wgmma: in each group of 8 columns, two in row lane / 4 and two in row lane / 4 + 8.
std::string WarpMatmul(const MatrixTile& left, const MatrixTile& right);

// Returns the name of the format in instructions.
absl::string_view InstructionType(MatrixFormat format);

// Return C expressions for the element at which a work-item's 16-byte row of an `ldmatrix` load
// starts. One load brings four blocks of 8 rows x 16 bytes. Left tile: rows 0-7 and 8-15 of the
// warp, for the first and then the second 16 bytes of K slice `slice`. Right tile: the columns 8 *
// n ... 8 * n + 7, for four consecutive 16-byte blocks of K in the slice pair `pair`.
std::string LeftBlockOffset(const MatrixTile& tile);
std::string RightBlockOffset(const MatrixTile& tile);

// Returns the C expression for a work-item's first element of a tf32 left tile along rows, in the
// first (0) or second (1) of its rows. Its further elements are four lines apart.
std::string LeftFragmentOffset(const MatrixTile& tile, int row);

}  // namespace tartan::opencl
