// SPDX-License-Identifier: Apache-2.0
// A stack that is large enough whatever `ulimit -s` says: drivers compile kernels by LLVM, whose
// recursion takes up to a megabyte, and threads get stacks of the limit's size.
#pragma once

#include "absl/functional/function_ref.h"
#include "frontend/cli/exit_code.h"

namespace tartan::cli {

// Returns what `work` does. Where the limit on stacks is below 8 MiB, `work` runs on a thread with
// that much, which threads that are made later get as well.
ExitCode RunOnLargeStack(absl::FunctionRef<ExitCode()> work);

}  // namespace tartan::cli
