// SPDX-License-Identifier: Apache-2.0
// Dumps of every stage as numbered files, for reading what the compiler made of a program.
#pragma once

#include <functional>
#include <string>

#include "absl/strings/string_view.h"

namespace tartan::compiler {

// A CompileHooks::dump that writes DIRECTORY/0001-program.txt, 0002-custom-gradients.txt … in the
// order in which stages end. Several compilations may share it; numbers go on. The first file that
// cannot be written is told on stderr, with the reason; others are passed over.
std::function<void(absl::string_view stage, absl::string_view text)> DumpToDirectory(
    std::string directory);

}  // namespace tartan::compiler
