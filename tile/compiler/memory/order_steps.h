// SPDX-License-Identifier: Apache-2.0
// Reorders the steps of a run to reduce peak memory.
#pragma once

#include "tile/compiler/kernel_list.h"

namespace tartan::compiler {

// Moves steps that free memory to an earlier position, such as an update after its gradient. Moves
// steps that allocate memory to a later position. Stops when the peak no longer decreases.
// Dependences between steps are kept. The order does not change if no better one is found.
void OrderSteps(KernelList* list);

}  // namespace tartan::compiler
