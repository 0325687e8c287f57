// SPDX-License-Identifier: Apache-2.0
// Formats messages about Tile text: "file:line:column: message", the line, a caret.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tile/lang/ast.h"

namespace tartan::lang {

struct SourceText {
  absl::string_view file;
  absl::string_view text;  // empty: messages have no line and caret
};

// Without a final newline. A position without a line gives "file: message".
std::string FormatDiagnostic(const SourceText& source, Position position,
                             absl::string_view message);

// The same as an InvalidArgument status.
absl::Status ErrorAt(const SourceText& source, Position position, absl::string_view message);

// The candidate most similar to `name`, or "" if none is close.
std::string NearestName(absl::string_view name, absl::Span<const absl::string_view> candidates);

}  // namespace tartan::lang
