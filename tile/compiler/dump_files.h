// SPDX-License-Identifier: Apache-2.0
// Writes the result of every compiler stage into numbered files, for reading.
#pragma once

#include <functional>
#include <string>

#include "absl/strings/string_view.h"

namespace tartan::compiler {

// Returns a CompileHooks::dump that writes DIRECTORY/0001-program.txt, 0002-custom-gradients.txt
// and so on, in the order in which stages end.
// Several compilations may share one dump; the numbers continue. The first file that cannot be
// written is reported on stderr with the reason; later failures are silent.
std::function<void(absl::string_view stage, absl::string_view text)> DumpToDirectory(
    std::string directory);

}  // namespace tartan::compiler
