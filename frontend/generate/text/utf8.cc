// SPDX-License-Identifier: Apache-2.0
#include "frontend/generate/text/utf8.h"

namespace tartan::generate {

int Utf8Length(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const int length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  for (int i = 1; i < length; ++i) {
    if (static_cast<size_t>(i) >= text.size()) return -1;
    uint8_t least = 0x80;
    uint8_t most = 0xBF;
    // Excludes overlong forms, surrogates and values above U+10FFFF.
    if (i == 1 && first == 0xE0) least = 0xA0;
    if (i == 1 && first == 0xED) most = 0x9F;
    if (i == 1 && first == 0xF0) least = 0x90;
    if (i == 1 && first == 0xF4) most = 0x8F;
    if (byte(i) < least || byte(i) > most) return 0;
  }
  return length;
}

bool IsUtf8(absl::string_view text) {
  while (!text.empty()) {
    const int length = Utf8Length(text);
    if (length <= 0) return false;
    text.remove_prefix(static_cast<size_t>(length));
  }
  return true;
}

void AppendUtf8(uint32_t code, std::string* text) {
  const auto add = [&](uint32_t byte) { *text += static_cast<char>(byte); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xC0 | code >> 6);
  } else if (code < 0x10000) {
    add(0xE0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3F));
  } else {
    add(0xF0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3F));
    add(0x80 | (code >> 6 & 0x3F));
  }
  add(0x80 | (code & 0x3F));
}

uint32_t CodeOf(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(text[i])); };
  const int length = Utf8Length(text);
  if (length == 2) return (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
  if (length == 3) return (byte(0) & 0xF) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
  if (length == 4) {
    return (byte(0) & 7) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
  }
  return byte(0);
}

}  // namespace tartan::generate
