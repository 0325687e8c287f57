// SPDX-License-Identifier: Apache-2.0
// Guarantees a large stack, whatever `ulimit -s` is. Drivers compile kernels with LLVM, whose
// recursion needs up to 1 MiB, and the stacks of threads have the size of the limit.
#pragma once

#include "absl/functional/function_ref.h"
#include "frontend/cli/process/exit_code.h"

namespace tartan::cli {

// Calls `work` and returns its result. If the stack limit is below 8 MiB, `work` runs on a thread
// with 8 MiB, and threads created later get 8 MiB, too.
ExitCode RunOnLargeStack(absl::FunctionRef<ExitCode()> work);

}  // namespace tartan::cli
