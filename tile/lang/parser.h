// SPDX-License-Identifier: Apache-2.0
// Tile text to syntax tree.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tile/lang/ast.h"

namespace tartan::lang {

// `file` appears in messages ("file:line:column: …", then the line and a caret). Reports every
// syntax error it can recover from, at most ten. Thread-safe. InvalidArgument on failure.
absl::StatusOr<Function> Parse(absl::string_view text, absl::string_view file = "tile");

// Text that parses back to an equal tree (positions aside).
std::string Print(const Function& function);

}  // namespace tartan::lang
