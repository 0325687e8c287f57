// SPDX-License-Identifier: Apache-2.0
// Warms up drivers that compile a kernel at its first launch: launches every kernel of a program
// once, so that the time of the first execution does not include compilation.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "tile/evaluator/compiled_program.h"

namespace tartan::evaluator {

// Launches the kernels of setup and steps on temporary buffers, with the memory of one launch at a
// time. Buffers are zero. For kernels with sizes they are uninitialized, and the sizes are zero.
// `should_continue`, if given, is called before each launch and may block; if it returns false, the
// result is Cancelled and compiled kernels are kept.
absl::Status CompileKernels(const CompiledProgram& program,
                            const std::function<bool()>& should_continue = {});

}  // namespace tartan::evaluator
