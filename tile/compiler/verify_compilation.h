// SPDX-License-Identifier: Apache-2.0
// Checks what a pass leaves to the next one.
#pragma once

#include "absl/status/status.h"
#include "tile/compiler/compilation.h"

namespace tartan::compiler {

// Internal, naming what is wrong, unless: the program is one that ProgramBuilder could have built
// (ir::Verify; ir::VerifyStored once 16-bit floats are widened); what was analysed and decided is
// of the program as it is now; every output is in memory once the program is partitioned; the
// kernels written so far and their steps are as VerifyList says.
absl::Status VerifyCompilation(const Compilation& compilation);

}  // namespace tartan::compiler
