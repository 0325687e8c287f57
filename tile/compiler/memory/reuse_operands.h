// SPDX-License-Identifier: Apache-2.0
// Lets launches write large results over an operand that nothing reads later.
#pragma once

#include <cstdint>

#include "tile/compiler/kernel_list.h"

namespace tartan::compiler {

// Where a launch creates a large temporary buffer and is the last reader of another one of the same
// size, lets both share memory. Requires that each element is read where it is written, as in a
// gradient of an activation or in a sum that accumulates a matmul. The order of steps, and all
// results, stay the same. A buffer is large from 1/128 of the peak and `min_bytes` on.
void ReuseOperands(int64_t min_bytes, KernelList* list);

}  // namespace tartan::compiler
