// SPDX-License-Identifier: Apache-2.0
// The order of steps: one in which less memory is needed at a time.
#pragma once

#include "tile/compiler/kernel_list.h"

namespace tartan::compiler {

// Runs steps that free memory as soon as they can (an update once its gradient is there), and those
// that take memory as late as they can, as long as that lowers the most that is needed at a time.
// What a step reads is what it read before. The order stays where none is better.
void OrderSteps(KernelList* list);

}  // namespace tartan::compiler
