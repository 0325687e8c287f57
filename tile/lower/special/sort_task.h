// SPDX-License-Identifier: Apache-2.0
// Describes a sort: the keys, and the buffers for the sorted elements.
#pragma once

#include <cstdint>

namespace tartan::lower {

struct SortTask {
  int keys = 0;  // buffer of the keys: lines of `size` elements with stride `inner`
  int64_t size = 1;
  int64_t inner = 1;
  bool descending = false;
  int64_t count = 1;  // elements of each sorted line that are wanted
  // Buffers for the sorted keys and for their original positions in the line; -1: not wanted. Their
  // lines have `count` elements and the same layout as the keys.
  int sorted_keys = -1;
  int sorted_positions = -1;
};

}  // namespace tartan::lower
