// SPDX-License-Identifier: Apache-2.0
// Semantics of the MMA statements (loop_ir.h): which are valid, and what they compute.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tile/base/mma_tile.h"
#include "tile/loop/loop_ir.h"

namespace tartan::loop {

// The tiles that the MMA reads; 64 rows of the left one.
MatrixTile LeftTile(const MultiplyTiles& product);
MatrixTile RightTile(const MultiplyTiles& product);

// The reason why a statement is invalid on its own, or "". `is_local`: whether a name is a local
// array.
std::string ReasonInvalid(const CopyVector& copy,
                          const std::function<bool(const std::string&)>& is_local);
std::string ReasonInvalid(const MultiplyTiles& product,
                          const std::function<bool(const std::string&)>& is_local);

// Adds one work-item's part of the matmul of two tiles to its accumulators, of type float32.
void AddTileMatmul(const MultiplyTiles& product, int item, const uint8_t* left,
                   const uint8_t* right, uint8_t* accumulators);

}  // namespace tartan::loop
