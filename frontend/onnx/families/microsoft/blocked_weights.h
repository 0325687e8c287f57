// SPDX-License-Identifier: Apache-2.0
// Weights of few bits in blocks along the reduced dimension, each block with a scale and a zero
// point, in the format of MatMulNBits (com.microsoft).
#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "frontend/onnx/families/shared/quantization_text.h"

namespace tartan::onnx {

// The sizes of weights [outer, inner], and of the tiled layout that kernels read.
struct BlockedWeights {
  int64_t inner = 0;  // K
  int64_t outer = 0;  // N
  int64_t bits = 4;
  int64_t block = 0;

  int64_t blocks() const { return (inner + block - 1) / block; }
  int64_t block_bytes() const { return block * bits / 8; }
  // Weights of fewer than 8 bits are stored in 32-bit words, so that a vector of words holds one
  // vector of weights per part.
  bool has_words() const { return bits < 8; }
  int64_t parts() const { return has_words() ? 32 / bits : 1; }
  // Outputs per tile. The weights of a tile are interleaved, so that a matmul reads one stream of
  // memory.
  int64_t width() const { return std::min<int64_t>(64, outer); }
  int64_t tiles() const { return (outer + width() - 1) / width(); }
};

// Adds W, float32 [tiles, blocks, block / parts, parts, width], computed from operands 1 to 4 of
// the node: weights, scales, zero points, and the group index of each row of the reduced dimension
// if groups are not blocks. Kernels read a repacked copy of the low-precision weights in this
// order.
absl::Status AddBlockedWeights(FunctionText& text, const BlockedWeights& weights);

}  // namespace tartan::onnx
