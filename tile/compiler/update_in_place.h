// SPDX-License-Identifier: Apache-2.0
// States: inputs in memory of the caller's that a run gives their next values, as parameters and an
// optimiser's averages in training, or the cache of a decoder.
#pragma once

#include "absl/types/span.h"
#include "tile/compiler/kernel_list.h"

namespace tartan::compiler {

// `next`: per input of the list, the output that is its next value, or -1. Afterwards the steps
// leave each next value in the state's buffer, and the output is that buffer. The kernel that makes
// it writes there at once where nothing needs the old value later: it is moved behind other readers
// where that is possible, and reads each element itself only where it writes it. What a scatter
// writes into a copy of the state goes into the state. Else a copy at the end does it. Other
// outputs that hand on a state give its old value.
void UpdateInPlace(absl::Span<const int> next, KernelList* list);

}  // namespace tartan::compiler
