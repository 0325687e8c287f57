// SPDX-License-Identifier: Apache-2.0
// The process's environment, which drivers read in threads of their own: PoCL asks for a variable
// at every launch, and hands all of them to the linker of every kernel. The C library (glibc before
// 2.41) frees the list of variables when one is added to it, whoever reads it.
#pragma once

#include <string>

namespace tartan::python {

// Adds a variable, empty, where there is none of that name, to a list that readers may still go
// through; to set it then changes that list no more. To be called before each `setenv` of a thread
// that might add one, and by one thread at a time.
void ReserveVariable(const std::string& name);

}  // namespace tartan::python
