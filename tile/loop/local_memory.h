// SPDX-License-Identifier: Apache-2.0
// Sizes and alignments of arrays in local memory.
#pragma once

#include <cstdint>

#include "tile/loop/loop_ir.h"

namespace tartan::loop {

// An upper bound, over all kernel languages, of the bytes that a local array occupies, rounded up
// to its alignment.
int64_t LocalBytes(const DeclareArray& array);
// The alignment of the array, in bytes.
int64_t LocalAlignment(const DeclareArray& array);

}  // namespace tartan::loop
