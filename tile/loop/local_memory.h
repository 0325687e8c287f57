// SPDX-License-Identifier: Apache-2.0
// Local memory of kernels.
#pragma once

#include <cstdint>

#include "tile/loop/loop_ir.h"

namespace tartan::loop {

// Of an array in local memory, where the next one may begin after it; no less than it takes in any
// language of kernels.
int64_t LocalBytes(const DeclareArray& array);
// Of its beginning, in bytes.
int64_t LocalAlignment(const DeclareArray& array);

}  // namespace tartan::loop
