// SPDX-License-Identifier: Apache-2.0
// The order of setup steps: what is made at load on the way to something else is soon let go.
#pragma once

#include "tile/compiler/kernel_list.h"

namespace tartan::compiler {

// Each setup step comes as late as those allow that read what it writes: matrices that are put side
// by side and then packed are there one after the other. Steps that nothing waits for keep their
// order.
void OrderSetup(KernelList* list);

}  // namespace tartan::compiler
