// SPDX-License-Identifier: Apache-2.0
// The layout of an MMA operand tile in local memory. A tile has rows (rows of the left factor,
// columns of the right one) and 128 bytes of K. It consists of lines of 128 bytes, eight vectors of
// 16 bytes each. A line is one row along K, or 64 rows at one K position (`along_rows`). Vector v
// of line l is stored at position v ^ l % 8 of the line, to avoid bank conflicts along lines and
// columns of vectors: Hopper's 128-byte swizzle. The MMA also accepts 16-byte lines of eight rows;
// on an H200 copies to local memory took three times as long in that layout.
//
// The MMA has no tf32 lines along rows. Work-items load the left operand of such a tile into
// registers: eight rows at four K positions at a time. Vector v of line l is stored at position
// v ^ 2 * l % 8 there, so that these elements are in 32 banks.
#pragma once

#include <cstdint>

#include "tile/base/data_type.h"
#include "tile/base/precision.h"

namespace tartan {

struct MatrixTile {
  MatrixFormat format = MatrixFormat::kTf32;
  int64_t rows = 0;
  // A line has 64 rows (tf32: 32) instead of one, of which the number of rows is a multiple. In
  // tf32 for left operands only.
  bool along_rows = false;

  static constexpr int64_t kVectors = 8;  // vectors per line, and lines per period of the swizzle
  static constexpr int64_t kLineBytes = 128;

  int64_t element_bytes() const { return ByteWidth(ElementType(format)); }
  int64_t vector() const { return 16 / element_bytes(); }  // elements per vector
  int64_t line() const { return kLineBytes / element_bytes(); }
  int64_t depth() const { return line(); }
  int64_t size() const { return rows * depth(); }

  // Returns whether work-items load the tile into registers, as operand of an MMA.
  bool is_fragment() const { return along_rows && format == MatrixFormat::kTf32; }
  // The factor on a line's number in its swizzle.
  int64_t swizzle() const { return is_fragment() ? 2 : 1; }
  // The position of a vector in its line. Kernels compute it by the same expression.
  int64_t Swizzled(int64_t vector, int64_t line) const {
    return vector ^ line * swizzle() % kVectors;
  }
  // The element offset of (row, K position) in the tile.
  int64_t Offset(int64_t row, int64_t at) const {
    const int64_t line_number = along_rows ? row / line() * depth() + at : row;
    const int64_t in_line = along_rows ? row % line() : at;
    return line_number * line() + Swizzled(in_line / vector(), line_number) * vector() +
           in_line % vector();
  }
};

}  // namespace tartan
