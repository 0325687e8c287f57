// SPDX-License-Identifier: Apache-2.0
// Reduces the resident memory of PoCL's compiler (LLVM and Clang). The libraries have 100 MB of
// program text. Their static constructors touch half of it at load time, even if the process never
// compiles.
#pragma once

#include <string>
#include <vector>

namespace tartan::opencl {

// Drops the compiler libraries' program text from the process's resident memory. Pages that are
// needed again are read from the files, mostly from the page cache. Thread-safe, even while a
// compiler runs. Takes about a millisecond.
void ReturnCompilerPages();

// Loads the libraries of PoCL's compiler one after the other and drops the pages of each before the
// next, which limits peak memory. Call it before loading the driver. A library that is not found is
// left to the driver.
void LoadCompilers();

// Returns the dependencies of a shared library in the order of its dynamic section; empty if the
// file cannot be read.
std::vector<std::string> NeededLibraries(const std::string& path);

}  // namespace tartan::opencl
