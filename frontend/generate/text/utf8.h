// SPDX-License-Identifier: Apache-2.0
// UTF-8 helpers.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace tartan::generate {

// Unicode spaces for use in an RE2 class; RE2's \s matches only ASCII.
inline constexpr char kSpaces[] =
    "\\t-\\r \\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}"
    "\\x{3000}";

// The number of bytes of the first character of `text`, which is not empty; 0 if it is invalid, -1
// if it is incomplete.
int Utf8Length(absl::string_view text);
bool IsUtf8(absl::string_view text);
void AppendUtf8(uint32_t code, std::string* text);
// The code point of the first character of `text`, which is valid UTF-8.
uint32_t CodeOf(absl::string_view text);

}  // namespace tartan::generate
