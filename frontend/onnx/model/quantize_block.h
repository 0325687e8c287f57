// SPDX-License-Identifier: Apache-2.0
// Rows of floats as small integers with a scale for each block.
#pragma once

#include <cstdint>
#include <vector>

namespace tartan::onnx {

// As MatMulNBits of com.microsoft reads them: element k of a row is number k % block of block
// k / block, in (bits / 8 * block) bytes of which each holds the first of its numbers in its lowest
// bits. A number q stands for (q - 2^(bits - 1)) * scale. The last block is filled with zeros.
struct BlockedRows {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t bits = 8;
  int64_t block = 32;
  std::vector<uint8_t> numbers;  // [rows, blocks, bytes of a block]
  std::vector<float> scales;     // [rows, blocks]
  double max_error = 0;
  double rms_error = 0;  // relative to the root of the mean square of the values

  int64_t blocks() const { return (columns + block - 1) / block; }
};

// Element k of row r is values[r * row_stride + k * column_stride]. Values that are not finite are
// the callers' to look for.
BlockedRows QuantizeRows(const float* values, int64_t rows, int64_t columns, int64_t row_stride,
                         int64_t column_stride, int64_t bits, int64_t block);

}  // namespace tartan::onnx
