// SPDX-License-Identifier: Apache-2.0
// Widths of vector masks: a mask is as wide as the operands of its comparison. Internal to this
// folder.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tile/loop/loop_ir.h"

namespace tartan::codegen {

inline bool IsMask(const loop::Type& type) {
  return type.element == DataType::kBool && type.lanes > 1;
}

// The mask type for comparisons of elements of `width` bytes.
loop::Type MaskType(int64_t width, int lanes);

// The minimum and maximum bytes per element compared in a vector condition.
struct MaskWidths {
  int64_t least = INT64_MAX;
  int64_t greatest = 0;

  void Add(const MaskWidths& other) {
    least = std::min(least, other.least);
    greatest = std::max(greatest, other.greatest);
  }
};
MaskWidths MaskWidthsOf(const loop::Apply& condition);

}  // namespace tartan::codegen
