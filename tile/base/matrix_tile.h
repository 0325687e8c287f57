// SPDX-License-Identifier: Apache-2.0
// How an operand of a matrix unit lies in local memory. Both have rows, those of the left one of
// the product and the columns of the right one, and the depth that is summed over: 128 bytes of it.
// The tile is made of lines of 128 bytes, eight vectors of 16 bytes each: a row's, along the depth,
// or those of 64 rows at one place of the depth. Vector v of line l is at v ^ l % 8 in it, so that
// neither lines nor columns of vectors meet in the same banks: what Hopper calls a swizzle of 128
// bytes. On an H200 such lines are what copies to local memory are quick with: lines of eight rows
// by 16 bytes, which its unit takes as well, took three times as long.
#pragma once

#include <cstdint>

#include "tile/base/data_type.h"
#include "tile/base/precision.h"

namespace tartan {

struct MatrixTile {
  MatrixFormat format = MatrixFormat::kTf32;
  int64_t rows = 0;
  // Lines are those of 64 rows; else of one. Of 16-bit formats only, and of whole 64 rows.
  bool along_rows = false;

  static constexpr int64_t kVectors = 8;  // of a line; as many lines swap theirs among each other
  static constexpr int64_t kLineBytes = 128;

  int64_t element_bytes() const { return ByteWidth(ElementType(format)); }
  int64_t vector() const { return 16 / element_bytes(); }  // elements
  int64_t line() const { return kLineBytes / element_bytes(); }
  int64_t depth() const { return line(); }
  int64_t size() const { return rows * depth(); }

  // The place of a line's vector, which may be written with expressions in the same way.
  static int64_t Swapped(int64_t vector, int64_t line) { return vector ^ line % kVectors; }
  // The place of an element.
  int64_t Offset(int64_t row, int64_t at) const {
    const int64_t line_number = along_rows ? row / line() * depth() + at : row;
    const int64_t in_line = along_rows ? row % line() : at;
    return line_number * line() + Swapped(in_line / vector(), line_number) * vector() +
           in_line % vector();
  }
};

}  // namespace tartan
