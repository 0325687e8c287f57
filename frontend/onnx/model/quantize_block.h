// SPDX-License-Identifier: Apache-2.0
// Block quantization: rows of floats as small integers with one scale per block.
#pragma once

#include <cstdint>
#include <vector>

namespace tartan::onnx {

// The weight format of MatMulNBits in com.microsoft. Element k of a row is integer k % block of
// block k / block. A block has bits / 8 * block bytes, and each byte holds its first integer in its
// lowest bits. An integer q represents (q - 2^(bits - 1)) * scale. Zeros fill the last block.
struct BlockedRows {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t bits = 8;
  int64_t block = 32;
  std::vector<uint8_t> numbers;  // [rows, blocks, bytes per block]
  std::vector<float> scales;     // [rows, blocks]
  double max_error = 0;
  double rms_error = 0;  // root mean square, relative to the root mean square of the values

  int64_t blocks() const { return (columns + block - 1) / block; }
};

// Element k of row r is values[r * row_stride + k * column_stride]. Requires finite values.
BlockedRows QuantizeRows(const float* values, int64_t rows, int64_t columns, int64_t row_stride,
                         int64_t column_stride, int64_t bits, int64_t block);

}  // namespace tartan::onnx
