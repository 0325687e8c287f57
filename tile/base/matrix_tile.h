// SPDX-License-Identifier: Apache-2.0
// How an operand of a matrix unit lies in local memory. Both have rows, those of the left one of the
// product and the columns of the right one, and the depth that is summed over. The tile is made of
// blocks of 128 bytes, eight vectors of 16 bytes one after the other: what Hopper's matrix unit
// calls core matrices, and what eight lanes read and write without a conflict.
#pragma once

#include <cstdint>

#include "tile/base/data_type.h"
#include "tile/base/precision.h"

namespace tartan {

struct MatrixTile {
  MatrixFormat format = MatrixFormat::kTf32;
  int64_t rows = 0;
  int64_t depth = 0;
  // Vectors lie along the rows, eight of them at eight places of the depth; else along the depth,
  // in eight rows. Of 16-bit formats only.
  bool along_rows = false;

  static constexpr int64_t kVectorsPerBlock = 8;

  int64_t vector() const { return 16 / ByteWidth(ElementType(format)); }  // elements
  int64_t block() const { return kVectorsPerBlock * vector(); }
  int64_t block_rows() const { return along_rows ? vector() : kVectorsPerBlock; }
  int64_t block_depth() const { return along_rows ? kVectorsPerBlock : vector(); }
  int64_t size() const { return rows * depth; }
  // Blocks that are neighbours along the depth lie side by side.
  int64_t depth_stride() const { return block(); }                         // from block to block
  int64_t row_stride() const { return depth / block_depth() * block(); }  // likewise

  // The place of an element.
  int64_t Offset(int64_t row, int64_t at) const {
    const int64_t inner = along_rows ? at % kVectorsPerBlock * vector() + row % vector()
                                     : row % kVectorsPerBlock * vector() + at % vector();
    return row / block_rows() * row_stride() + at / block_depth() * depth_stride() + inner;
  }
};

}  // namespace tartan
