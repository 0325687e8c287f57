// SPDX-License-Identifier: Apache-2.0
// Reorders the steps of a run to reduce peak memory.
#pragma once

#include "tile/compiler/kernel_list.h"

namespace tartan::compiler {

// Moves steps that free memory early (an update as soon as its gradient is there), and steps that
// allocate memory late, as long as the peak decreases. Dependences between steps are kept. The
// order does not change if no better one is found.
void OrderSteps(KernelList* list);

}  // namespace tartan::compiler
