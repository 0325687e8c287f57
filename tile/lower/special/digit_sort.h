// SPDX-License-Identifier: Apache-2.0
// Stable sorting on CPUs, a line for each work-item: by the bytes of the keys, or with a heap where
// few elements of a long line are wanted.
#pragma once

#include "tile/lower/special/sort_task.h"
#include "tile/lower/special/special_context.h"

namespace tartan::lower {

// As AddSort, on a CPU.
void AddDigitSort(const SortTask& task, SpecialContext* context);

}  // namespace tartan::lower
