// SPDX-License-Identifier: Apache-2.0
// Stable sorting of lines. Short runs are sorted by rank. Longer lines are merge-sorted on GPUs,
// each work-item merging a few elements; CPUs sort one line per work-item (radix_sort.h).
#pragma once

#include "tile/lower/special/sort_task.h"
#include "tile/lower/special/special_context.h"

namespace tartan::lower {

// NaN is greater than everything else, and equal keys keep their order. Requires keys.
void AddSort(const SortTask& task, SpecialContext* context);

}  // namespace tartan::lower
