// SPDX-License-Identifier: Apache-2.0
// Values that were just stored are used instead of loaded again.
#pragma once

#include <functional>
#include <string>

#include "tile/loop/loop_ir.h"

namespace tartan::loop {

// Loads of places that an earlier statement of the block stored a variable at become that variable,
// where memory keeps the value as it is. Of the buffers and arrays for which `is_private` holds,
// the statements store every element once at most, and no other name leads to them.
StmtPtr ForwardStores(const StmtPtr& stmt,
                      const std::function<bool(const std::string& buffer)>& is_private);

}  // namespace tartan::loop
