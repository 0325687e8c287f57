// SPDX-License-Identifier: Apache-2.0
// Stable sorting on CPUs, one line per work-item: radix sort, or a heap if few elements of a long
// line are wanted.
#pragma once

#include "tile/lower/special/sort_task.h"
#include "tile/lower/special/special_context.h"

namespace tartan::lower {

// Like AddSort, for CPUs.
void AddRadixSort(const SortTask& task, SpecialContext* context);

}  // namespace tartan::lower
