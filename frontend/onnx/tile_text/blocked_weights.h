// SPDX-License-Identifier: Apache-2.0
// Weights in a few bits each, with a scale and a zero point for each block of them along a sum, as
// MatMulNBits of com.microsoft has them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "frontend/onnx/tile_text/quantization_text.h"

namespace tartan::onnx {

// Weights [outer, inner].
struct BlockedWeights {
  int64_t inner = 0;  // K
  int64_t outer = 0;  // N
  int64_t bits = 4;
  int64_t block = 0;

  int64_t blocks() const { return (inner + block - 1) / block; }
  int64_t block_bytes() const { return block * bits / 8; }
  // Smaller numbers than bytes lie in words of 32 bits, so that a vector of these holds as many
  // vectors of numbers as there are numbers in a word.
  bool has_words() const { return bits < 8; }
  int64_t parts() const { return has_words() ? 32 / bits : 1; }
  // Results whose weights lie side by side, so that a product reads one stream of memory.
  int64_t width() const { return std::min<int64_t>(64, outer); }
  int64_t tiles() const { return (outer + width() - 1) / width(); }
};

// Adds W, float32 [tiles, blocks, block / parts, parts, width], from operands 1 to 4 of the node:
// numbers, scales, zero points, and the group of each row where those are not its block. What
// kernels read are copies of the small numbers in that order.
absl::Status AddBlockedWeights(FunctionText& text, const BlockedWeights& weights);

}  // namespace tartan::onnx
