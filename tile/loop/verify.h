// SPDX-License-Identifier: Apache-2.0
// Checks that a kernel is one that the writer and the interpreter can be given: the stage after
// lowering and simplification.
#pragma once

#include "absl/status/status.h"
#include "tile/loop/loop_ir.h"

namespace tartan::loop {

// Internal, naming the kernel and the statement or expression, unless: types are as loop_ir.h says;
// every name is declared where it is used, with that type, once within its scopes; only mutable
// variables are assigned and only outputs and arrays stored to; local arrays are declared in the
// kernel's own scope; vector conditions are combined only where what they compared is equally wide
// (their masks have that width); operations are defined for their types (scalar_value.h), and
// those of bool vectors are logic and kSelect.
absl::Status Verify(const Kernel& kernel);

}  // namespace tartan::loop
