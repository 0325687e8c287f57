// SPDX-License-Identifier: Apache-2.0
// Text from strangers (names in models, file names) made fit for a terminal.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace tartan {

// Control characters (C0, DEL, C1), characters that turn the direction of writing, and bytes that
// are no UTF-8 appear as "\n", "\t", "\x1b" or "\u202e"; all else stays. The result is valid UTF-8
// of one line.
std::string Printable(absl::string_view text);

// The same for text of several lines: line ends and tabs stay.
std::string PrintableLines(absl::string_view text);

// Only bytes that are no UTF-8 are written out: for documents, which have escapes of their own.
std::string ValidUtf8(absl::string_view text);

}  // namespace tartan
