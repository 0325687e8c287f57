// SPDX-License-Identifier: Apache-2.0
// Identifies the running build of Tartan, so that no build uses files that another stored on disk.
#pragma once

#include <string>

namespace tartan::evaluator {

// The bytes of the linker's build id of the program or library that contains this function; empty
// if it has none.
std::string BuildIdentity();

}  // namespace tartan::evaluator
