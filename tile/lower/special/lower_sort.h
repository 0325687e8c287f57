// SPDX-License-Identifier: Apache-2.0
// Stable sorting of lines: a rank within short runs, then passes that merge pairs of runs, every
// work-item a few elements of the merged run.
#pragma once

#include <cstdint>

#include "tile/lower/special/special_context.h"

namespace tartan::lower {

struct SortTask {
  int keys = 0;  // buffer: lines of `size` elements that lie `inner` apart
  int64_t size = 1;
  int64_t inner = 1;
  bool descending = false;
  // Buffers laid out like the keys, for the keys in order and for where in its line each came
  // from; -1: not wanted.
  int sorted_keys = -1;
  int sorted_positions = -1;
};

// NaN is greater than all else, and equal keys keep their order. Requires keys.
void AddSort(const SortTask& task, SpecialContext* context);

}  // namespace tartan::lower
