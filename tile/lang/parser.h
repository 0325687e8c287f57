// SPDX-License-Identifier: Apache-2.0
// Parses Tile text into a syntax tree.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tile/lang/ast.h"

namespace tartan::lang {

// `file` appears in messages ("file:line:column: …", then the line and a caret). InvalidArgument on
// failure, with every syntax error from which the parser can recover, at most ten. Thread-safe.
absl::StatusOr<Function> Parse(absl::string_view text, absl::string_view file = "tile");

// Text that parses to an equal tree (up to positions).
std::string Print(const Function& function);

}  // namespace tartan::lang
