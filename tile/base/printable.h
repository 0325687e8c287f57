// SPDX-License-Identifier: Apache-2.0
// Sanitizes untrusted text (names in models, file names) for terminals.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace tartan {

// Escapes control characters (C0, DEL, C1), bidirectional controls and invalid UTF-8 as "\n", "\t",
// "\x1b" or "\u202e". The result is one line of valid UTF-8.
std::string Printable(absl::string_view text);

// The same for text of several lines: line ends and tabs are kept.
std::string PrintableLines(absl::string_view text);

// Escapes only invalid UTF-8, for document formats with escapes of their own.
std::string ValidUtf8(absl::string_view text);

}  // namespace tartan
