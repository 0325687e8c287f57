// SPDX-License-Identifier: Apache-2.0
// Rewrites a kernel to an equal one that is shorter and quicker: constant folding, integer
// identities, constant and single-use propagation of index arithmetic, dead branches, empty
// blocks and unused declarations removed. Float arithmetic is not reassociated; NaN, infinities
// and signed zeros keep their meaning.
#pragma once

#include "tile/loop/loop_ir.h"

namespace tartan::loop {

Kernel Simplify(const Kernel& kernel);

}  // namespace tartan::loop
