// SPDX-License-Identifier: Apache-2.0
// Makes changes to the process's environment safe for driver threads that read it. PoCL reads a
// variable at every launch and passes the environment to the linker of every kernel. When a
// variable is added, the C library (glibc before 2.41) frees the old list of variables even if a
// thread reads it.
#pragma once

#include <string>

namespace tartan::python {

// Adds an empty variable `name`, if there is none, without freeing the list of variables; a later
// setenv of the name then does not replace the list. Must be called before each `setenv` that might
// add a variable, by one thread at a time.
void ReserveVariable(const std::string& name);

}  // namespace tartan::python
