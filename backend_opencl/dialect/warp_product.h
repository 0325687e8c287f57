// SPDX-License-Identifier: Apache-2.0
// The product of two tiles in local memory by the instructions that the 32 work-items of a warp
// execute together (`ldmatrix`, `mma.sync`: NVIDIA's Ampere and later).
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "tile/base/matrix_tile.h"

namespace tartan::opencl {

// Statements that add the product of 64 rows of `left` by all columns of `right` to `total`, for
// four warps that have 16 rows each. A work-item's sums are those it has by Hopper's instruction,
// too: of each 8 columns two in row lane / 4 and two in the row that is 8 further on.
std::string WarpProduct(const MatrixTile& left, const MatrixTile& right);

// The format's name in instructions.
absl::string_view InstructionType(MatrixFormat format);

// Parts of it, as expressions in C: the element from which on a work-item's 16 bytes of the blocks
// lie that one load brings. Of the left tile four blocks are the rows 0 to 7 and 8 to 15 of the
// warp's, in the first 16 bytes of the depth of `slice` and then in the last ones. Of the right
// tile, whose columns are `n` * 8 and the next seven, they follow each other in the depth of
// `pair`.
std::string LeftBlockPlace(const MatrixTile& tile);
std::string RightBlockPlace(const MatrixTile& tile);

}  // namespace tartan::opencl
