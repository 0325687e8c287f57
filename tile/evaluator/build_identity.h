// SPDX-License-Identifier: Apache-2.0
// Which build of Tartan is running: what a build stored on disk, another must not take for its own.
#pragma once

#include <string>

namespace tartan::evaluator {

// The bytes of the build id that the linker put into the program or library holding this function;
// empty where there is none.
std::string BuildIdentity();

}  // namespace tartan::evaluator
