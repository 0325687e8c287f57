// SPDX-License-Identifier: Apache-2.0
// Conditions of vectors are masks, as wide as what is compared. Internal to this folder.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tile/loop/loop_ir.h"

namespace tartan::codegen {

inline bool IsMask(const loop::Type& type) {
  return type.element == DataType::kBool && type.lanes > 1;
}

// A comparison makes a mask as wide as what it compares.
loop::Type MaskType(int64_t width, int lanes);

// Bytes of what the comparisons in a vector condition compare.
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
