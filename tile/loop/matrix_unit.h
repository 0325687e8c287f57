// SPDX-License-Identifier: Apache-2.0
// What is right for the statements of matrix units (loop_ir.h), and what they compute.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tile/base/matrix_tile.h"
#include "tile/loop/loop_ir.h"

namespace tartan::loop {

// The tiles that a product reads: 64 rows of the left one.
MatrixTile LeftTile(const MultiplyTiles& product);
MatrixTile RightTile(const MultiplyTiles& product);

// What is wrong with a statement by itself, or "". `is_local` tells of a name whether it is a local
// array.
std::string WhatIsWrong(const CopyVector& copy,
                        const std::function<bool(const std::string&)>& is_local);
std::string WhatIsWrong(const MultiplyTiles& product,
                        const std::function<bool(const std::string&)>& is_local);

// Adds to the accumulators of one work-item, float32, what it has of the product of two tiles.
void AddTileProduct(const MultiplyTiles& product, int item, const uint8_t* left,
                    const uint8_t* right, uint8_t* accumulators);

}  // namespace tartan::loop
