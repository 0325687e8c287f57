// SPDX-License-Identifier: Apache-2.0
// Store-to-load forwarding: uses values that were just stored instead of loading them again.
#pragma once

#include <functional>
#include <string>

#include "tile/loop/loop_ir.h"

namespace tartan::loop {

// Replaces a load by a variable that an earlier statement of the block stored at the same address,
// if memory keeps the value exactly. Applies to buffers and arrays for which `is_private` holds.
// The statements must store each of their elements at most once and access them by no other name.
StmtPtr ForwardStores(const StmtPtr& stmt,
                      const std::function<bool(const std::string& buffer)>& is_private);

}  // namespace tartan::loop
