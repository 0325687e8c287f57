// SPDX-License-Identifier: Apache-2.0
// PoCL brings LLVM and Clang: 100 MB of program text, of which half stays in memory once it has
// run, though the process may never compile again.
#pragma once

namespace tartan::opencl {

// Takes the text of the compiler's libraries out of the process's memory. It comes back from their
// files, mostly still in the system's memory, where it is run. Thread-safe, also beside a compiler
// that is at work. Costs about a millisecond.
void ReturnCompilerPages();

}  // namespace tartan::opencl
