// SPDX-License-Identifier: Apache-2.0
// Characters in UTF-8.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace tartan::generate {

// Spaces of Unicode within a class of RE2, whose \s are those of ASCII.
inline constexpr char kSpaces[] =
    "\\t-\\r \\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}"
    "\\x{3000}";

// Bytes of the character that `text`, which is not empty, begins with: 0 where it begins with none,
// -1 where it ends within one.
int Utf8Length(absl::string_view text);
bool IsUtf8(absl::string_view text);
void AppendUtf8(uint32_t code, std::string* text);
// Of the character that `text`, UTF-8, begins with.
uint32_t CodeOf(absl::string_view text);

}  // namespace tartan::generate
