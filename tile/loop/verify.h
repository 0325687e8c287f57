// SPDX-License-Identifier: Apache-2.0
// Checks the invariants of a kernel that the writer and the interpreter require, after lowering and
// simplification.
#pragma once

#include "absl/status/status.h"
#include "tile/loop/loop_ir.h"

namespace tartan::loop {

// Returns Internal, naming the kernel and the statement or expression, unless all of these hold:
// - types are as loop_ir.h says;
// - every name is declared before use, with that type, once within its scopes;
// - only mutable variables are assigned, and stores go only to outputs and arrays;
// - local arrays are declared in the kernel's outermost scope;
// - vector conditions are combined only if their comparisons, and so their masks, are equally wide;
// - operations are defined for their types (scalar_value.h); on bool vectors only logic and
//   kSelect.
absl::Status Verify(const Kernel& kernel);

}  // namespace tartan::loop
