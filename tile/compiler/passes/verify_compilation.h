// SPDX-License-Identifier: Apache-2.0
// Checks the invariants of a compilation between passes.
#pragma once

#include "absl/status/status.h"
#include "tile/compiler/passes/compilation.h"

namespace tartan::compiler {

// Returns Internal, naming the violation, unless all of these hold:
//
// - The program passes ir::Verify, or ir::VerifyStored after 16-bit floats are widened.
// - Analyses and decisions refer to the current program.
// - Every output is in memory once the program is partitioned.
// - The kernels written so far, and their steps, pass VerifyList.
absl::Status VerifyCompilation(const Compilation& compilation);

}  // namespace tartan::compiler
