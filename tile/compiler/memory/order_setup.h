// SPDX-License-Identifier: Apache-2.0
// Orders setup steps so that load-time intermediates are freed early.
#pragma once

#include "tile/compiler/kernel_list.h"

namespace tartan::compiler {

// Moves each setup step as late as its readers allow, so that intermediates such as concatenated
// matrices are packed and freed one after the other. Steps that no other step reads keep their
// order.
void OrderSetup(KernelList* list);

}  // namespace tartan::compiler
