// SPDX-License-Identifier: Apache-2.0
// Simplifies a kernel to an equivalent one that is shorter and faster. Applies constant folding,
// integer identities, and propagation of constants and single-use index arithmetic. Removes dead
// branches, empty blocks and unused declarations. Float arithmetic is not reassociated; NaN,
// infinities and signed zeros keep their meaning.
#pragma once

#include "tile/loop/loop_ir.h"

namespace tartan::loop {

Kernel Simplify(const Kernel& kernel);

}  // namespace tartan::loop
