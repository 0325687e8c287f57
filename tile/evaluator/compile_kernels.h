// SPDX-License-Identifier: Apache-2.0
// Some drivers compile a kernel when it first runs: here every kernel of a program runs once, one
// after the other, so that loading the program and running it take what they take.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "tile/evaluator/compiled_program.h"

namespace tartan::evaluator {

// Runs the kernels of setup and steps on memory of their own, on zeros where constants are and on
// rubbish elsewhere: never more than one launch needs. `go_on`, where given, is called before each
// and may wait; Cancelled as soon as it gives false, and what was compiled until then stays.
absl::Status CompileKernels(const CompiledProgram& program,
                            const std::function<bool()>& go_on = {});

}  // namespace tartan::evaluator
