// SPDX-License-Identifier: Apache-2.0
// Checks that a kernel list's steps take every buffer for what it is: the compiler's last stage.
#pragma once

#include "absl/status/status.h"
#include "tile/compiler/kernel_list.h"

namespace tartan::compiler {

// Internal, naming the kernel or the buffer and both types, unless every kernel is right
// (loop::Verify) and has a name of its own; every parameter of a launch, every fill, every output
// and both sides of a copy have the type of the elements in their buffer; and what is copied is as
// long as the buffer it is copied to.
absl::Status VerifyList(const KernelList& list);

}  // namespace tartan::compiler
