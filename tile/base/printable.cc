// SPDX-License-Identifier: Apache-2.0
#include "tile/base/printable.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace tartan {
namespace {

// A UTF-8 character and its length in bytes; 0 if the byte does not begin a character.
struct Character {
  uint32_t code = 0;
  size_t bytes = 0;
};

Character Decode(absl::string_view text) {
  const auto byte = [&](size_t i) -> uint32_t { return static_cast<uint8_t>(text[i]); };
  const uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return {};
  uint32_t code = first & (0x7fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  const uint32_t least = bytes == 4 ? 0x10000 : bytes == 3 ? 0x800 : 0x80;
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  if (code < least || code > 0x10ffff || is_surrogate) return {};
  return {code, bytes};
}

bool IsControl(uint32_t code) { return code < 0x20 || (code >= 0x7f && code < 0xa0); }

// Line and paragraph separators and bidirectional controls, with which one name could imitate
// another.
bool IsBidiControl(uint32_t code) {
  return code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

std::string Escape(uint32_t code) {
  if (code == '\n') return "\\n";
  if (code == '\t') return "\\t";
  if (code == '\r') return "\\r";
  return code < 0x100 ? absl::StrCat("\\x", absl::Hex(code, absl::kZeroPad2))
                      : absl::StrCat("\\u", absl::Hex(code, absl::kZeroPad4));
}

enum class Keep : uint8_t { kNoControls, kLines, kAll };

bool IsKept(uint32_t code, Keep keep) {
  if (keep == Keep::kAll) return true;
  if (keep == Keep::kLines && (code == '\n' || code == '\t')) return true;
  return !IsControl(code) && !IsBidiControl(code);
}

std::string Escaped(absl::string_view text, Keep keep) {
  std::string result;
  while (!text.empty()) {
    const Character character = Decode(text);
    if (character.bytes == 0) {
      result += Escape(static_cast<uint8_t>(text[0]));
    } else if (IsKept(character.code, keep)) {
      result.append(text.data(), character.bytes);
    } else {
      result += Escape(character.code);
    }
    text.remove_prefix(character.bytes == 0 ? 1 : character.bytes);
  }
  return result;
}

}  // namespace

std::string Printable(absl::string_view text) { return Escaped(text, Keep::kNoControls); }

std::string PrintableLines(absl::string_view text) { return Escaped(text, Keep::kLines); }

std::string ValidUtf8(absl::string_view text) { return Escaped(text, Keep::kAll); }

}  // namespace tartan
