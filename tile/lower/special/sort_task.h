// SPDX-License-Identifier: Apache-2.0
// What is to be sorted, and where the sorted elements go.
#pragma once

#include <cstdint>

namespace tartan::lower {

struct SortTask {
  int keys = 0;  // buffer: lines of `size` elements that lie `inner` apart
  int64_t size = 1;
  int64_t inner = 1;
  bool descending = false;
  int64_t count = 1;  // elements of each sorted line that are wanted
  // Buffers for the keys in order and for where in its line each came from; -1: not wanted. Their
  // lines have `count` elements, and are laid out like those of the keys.
  int sorted_keys = -1;
  int sorted_positions = -1;
};

}  // namespace tartan::lower
