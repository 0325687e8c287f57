// SPDX-License-Identifier: Apache-2.0
// PoCL brings LLVM and Clang: 100 MB of program text, of which half has been in memory once they
// are loaded (their constructors lie everywhere), though the process may never compile.
#pragma once

#include <string>
#include <vector>

namespace tartan::opencl {

// Takes the text of the compiler's libraries out of the process's memory. It comes back from their
// files, mostly still in the system's memory, where it is run. Thread-safe, also beside a compiler
// that is at work. Costs about a millisecond.
void ReturnCompilerPages();

// Loads the libraries of PoCL's compiler one after the other, such that their pages are never in
// memory together; to be called before its driver is loaded. What cannot be found is left to the
// driver.
void LoadCompilers();

// The libraries that a shared library needs, in its order; none where it cannot be read.
std::vector<std::string> NeededLibraries(const std::string& path);

}  // namespace tartan::opencl
