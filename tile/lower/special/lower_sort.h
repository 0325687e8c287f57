// SPDX-License-Identifier: Apache-2.0
// Stable sorting of lines: a rank within short runs; for longer lines passes that merge pairs of
// runs on GPUs, every work-item a few elements of the merged run, and on CPUs a line for each
// work-item (digit_sort.h).
#pragma once

#include "tile/lower/special/sort_task.h"
#include "tile/lower/special/special_context.h"

namespace tartan::lower {

// NaN is greater than all else, and equal keys keep their order. Requires keys.
void AddSort(const SortTask& task, SpecialContext* context);

}  // namespace tartan::lower
