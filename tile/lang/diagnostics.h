// SPDX-License-Identifier: Apache-2.0
// Messages that point into Tile text: "file:line:column: message", the line, a caret.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tile/lang/ast.h"

namespace tartan::lang {

struct SourceText {
  absl::string_view file;
  absl::string_view text;  // empty: messages come without the line and the caret
};

// Without a final newline. A position without a line gives "file: message".
std::string FormatDiagnostic(const SourceText& source, Position position,
                             absl::string_view message);

// The same as an InvalidArgument.
absl::Status ErrorAt(const SourceText& source, Position position, absl::string_view message);

// The candidate that looks most like `name`, or "" where none is close.
std::string NearestName(absl::string_view name, absl::Span<const absl::string_view> candidates);

}  // namespace tartan::lang
