// SPDX-License-Identifier: Apache-2.0
#include "frontend/generate/text/json.h"

#include <algorithm>
#include <charconv>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "frontend/generate/text/utf8.h"
#include "tile/base/status_macros.h"

namespace tartan::generate {
namespace {

constexpr int kMaxNesting = 64;

class Parser {
 public:
  explicit Parser(absl::string_view text) : text_(text) {}

  absl::StatusOr<Json> Document() {
    TARTAN_ASSIGN_OR_RETURN(Json value, Value(0));
    SkipSpace();
    if (at_ < text_.size()) return Error("text after the end");
    return value;
  }

 private:
  absl::Status Error(absl::string_view what) const {
    const absl::string_view before = text_.substr(0, at_);
    const auto line = std::count(before.begin(), before.end(), '\n');
    const size_t start = before.rfind('\n');
    return absl::InvalidArgumentError(
        absl::StrCat("invalid JSON at line ", line + 1, ", column ",
                     at_ - (start == absl::string_view::npos ? 0 : start + 1) + 1, ": ", what));
  }

  void SkipSpace() {
    while (at_ < text_.size() && absl::StrContains(" \t\r\n", text_[at_])) ++at_;
  }
  bool Take(char c) {
    SkipSpace();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool TakeWord(absl::string_view word) {
    if (!absl::StartsWith(text_.substr(at_), word)) return false;
    at_ += word.size();
    return true;
  }

  absl::StatusOr<Json> Value(int depth) {
    if (depth > kMaxNesting) return Error("the nesting is too deep");
    SkipSpace();
    if (at_ >= text_.size()) return Error("the text ends");
    const char c = text_[at_];
    if (c == '{') return Members(depth);
    if (c == '[') return Elements(depth);
    if (c == '"') {
      TARTAN_ASSIGN_OR_RETURN(std::string text, String());
      return Json(std::move(text));
    }
    if (TakeWord("null")) return Json();
    if (TakeWord("true")) return Json(true);
    if (TakeWord("false")) return Json(false);
    return Number();
  }

  absl::StatusOr<Json> Number() {
    size_t end = at_;
    while (end < text_.size() && (absl::ascii_isalnum(text_[end]) || text_[end] == '-' ||
                                  text_[end] == '+' || text_[end] == '.')) {
      ++end;
    }
    double number = 0;
    const auto read = std::from_chars(text_.data() + at_, text_.data() + end, number);
    if (end == at_ || read.ec != std::errc() || read.ptr != text_.data() + end ||
        absl::ascii_isalpha(text_[at_])) {
      return Error("expected a value");
    }
    at_ = end;
    return Json(number);
  }

  absl::StatusOr<Json> Elements(int depth) {
    ++at_;
    Json::Array elements;
    if (Take(']')) return Json(std::move(elements));
    while (true) {
      TARTAN_ASSIGN_OR_RETURN(elements.emplace_back(), Value(depth + 1));
      if (Take(']')) return Json(std::move(elements));
      if (!Take(',')) return Error("expected ',' or ']'");
    }
  }

  absl::StatusOr<Json> Members(int depth) {
    ++at_;
    Json::Object members;
    if (Take('}')) return Json(std::move(members));
    while (true) {
      SkipSpace();
      if (at_ >= text_.size() || text_[at_] != '"') return Error("expected a name");
      TARTAN_ASSIGN_OR_RETURN(std::string name, String());
      if (!Take(':')) return Error("expected ':'");
      TARTAN_ASSIGN_OR_RETURN(Json value, Value(depth + 1));
      members.emplace_back(std::move(name), std::move(value));
      if (Take('}')) return Json(std::move(members));
      if (!Take(',')) return Error("expected ',' or '}'");
    }
  }

  absl::StatusOr<std::string> String() {
    ++at_;
    std::string text;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (static_cast<uint8_t>(text_[at_]) < 0x20) return Error("a control character in a string");
      if (text_[at_] != '\\') {
        text += text_[at_++];
        continue;
      }
      ++at_;
      TARTAN_RETURN_IF_ERROR(Escape(&text));
    }
    if (at_ >= text_.size()) return Error("a string does not end");
    ++at_;
    if (!IsUtf8(text)) return Error("a string is not UTF-8");
    return text;
  }

  absl::Status Escape(std::string* text) {
    constexpr absl::string_view kNames = "\"\\/bfnrt";
    constexpr absl::string_view kValues = "\"\\/\b\f\n\r\t";
    if (at_ >= text_.size()) return Error("a string does not end");
    const char c = text_[at_++];
    if (const size_t known = kNames.find(c); known != absl::string_view::npos) {
      *text += kValues[known];
      return absl::OkStatus();
    }
    uint32_t code = 0;
    if (c != 'u' || !Hex(&code)) return Error("an unknown escape sequence");
    if (code >= 0xD800 && code < 0xDC00) {
      uint32_t low = 0;
      if (!TakeWord("\\u") || !Hex(&low) || low < 0xDC00 || low > 0xDFFF) {
        return Error("an unpaired surrogate");
      }
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xDC00 && code < 0xE000) {
      return Error("an unpaired surrogate");
    }
    AppendUtf8(code, text);
    return absl::OkStatus();
  }

  bool Hex(uint32_t* code) {
    const absl::string_view digits = text_.substr(at_, 4);
    at_ += digits.size();
    return digits.size() == 4 && absl::SimpleHexAtoi(digits, code);
  }

  const absl::string_view text_;
  size_t at_ = 0;
};

}  // namespace

absl::StatusOr<Json> Json::Parse(absl::string_view text) { return Parser(text).Document(); }

const Json& Json::operator[](absl::string_view name) const {
  static const Json* const nothing = new Json();
  if (const Object* members = object()) {
    for (const auto& [key, value] : *members) {
      if (key == name) return value;
    }
  }
  return *nothing;
}

std::string Json::StringOr(absl::string_view name, absl::string_view otherwise) const {
  const std::string* text = (*this)[name].string();
  return text == nullptr ? std::string(otherwise) : *text;
}

bool Json::BoolOr(absl::string_view name, bool otherwise) const {
  const bool* value = (*this)[name].boolean();
  return value == nullptr ? otherwise : *value;
}

}  // namespace tartan::generate
