// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/tile_text/text_case.h"

#include <wctype.h>

#include <cstdint>

#include "absl/strings/ascii.h"

namespace tartan::onnx {
namespace {

struct Character {
  uint32_t code = 0;
  size_t bytes = 0;  // 0: not UTF-8
};

// The UTF-8 character at the front of `text`, which is not empty.
Character FirstOf(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t head = byte(0);
  if (head < 0x80) return {head, 1};
  const size_t bytes = head >= 0xF0 ? 4 : head >= 0xE0 ? 3 : 2;
  if (head < 0xC2 || head > 0xF4 || bytes > text.size()) return {};
  uint32_t code = head & (0xFFU >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3F);
  }
  return {code, bytes};
}

void Append(uint32_t code, std::string* text) {
  const auto tail = [&](int shift) {
    text->push_back(static_cast<char>(0x80 | (code >> shift & 0x3F)));
  };
  if (code < 0x80) {
    text->push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    text->push_back(static_cast<char>(0xC0 | code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    text->push_back(static_cast<char>(0xE0 | code >> 12));
    tail(6);
    tail(0);
  } else {
    text->push_back(static_cast<char>(0xF0 | code >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

template <class Change>
std::string ChangeEach(absl::string_view text, Change change) {
  std::string changed;
  while (!text.empty()) {
    const Character character = FirstOf(text);
    if (character.bytes == 0) {
      changed.push_back(text[0]);
    } else {
      Append(static_cast<uint32_t>(change(static_cast<wint_t>(character.code))), &changed);
    }
    text.remove_prefix(character.bytes == 0 ? 1 : character.bytes);
  }
  return changed;
}

}  // namespace

TextCase::TextCase(const std::string& locale) {
  locale_ = locale.empty() ? locale_t{} : newlocale(LC_CTYPE_MASK, (locale + ".UTF-8").c_str(), {});
  if (locale_ == locale_t{}) locale_ = newlocale(LC_CTYPE_MASK, "C.UTF-8", {});
}

TextCase::~TextCase() {
  if (locale_ != locale_t{}) freelocale(locale_);
}

std::string TextCase::Lower(absl::string_view text) const {
  if (locale_ == locale_t{}) return absl::AsciiStrToLower(text);
  return ChangeEach(text, [&](wint_t c) { return towlower_l(c, locale_); });
}

std::string TextCase::Upper(absl::string_view text) const {
  if (locale_ == locale_t{}) return absl::AsciiStrToUpper(text);
  return ChangeEach(text, [&](wint_t c) { return towupper_l(c, locale_); });
}

}  // namespace tartan::onnx
