// SPDX-License-Identifier: Apache-2.0
// Final check of a kernel list: the steps use every buffer with its declared type and size.
#pragma once

#include "absl/status/status.h"
#include "tile/compiler/kernel_list.h"

namespace tartan::compiler {

// Returns Internal, naming the kernel or the buffer and both types, unless all of these hold:
//
// - Every kernel passes loop::Verify and has a unique name.
// - Launch parameters, fills, outputs and both sides of copies have the element type of their
//   buffer.
// - The two buffers of a copy have equal sizes.
absl::Status VerifyList(const KernelList& list);

}  // namespace tartan::compiler
