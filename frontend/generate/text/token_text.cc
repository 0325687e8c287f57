// SPDX-License-Identifier: Apache-2.0
#include "frontend/generate/text/token_text.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "frontend/generate/text/pre_tokenizer.h"
#include "tile/base/status_macros.h"

namespace tartan::generate {
namespace {

// Parses "<0x0A>"; returns false for other tokens.
bool IsByte(const std::string& token, std::string* byte) {
  uint32_t value = 0;
  if (token.size() != 6 || !absl::StartsWith(token, "<0x") || token[5] != '>' ||
      !absl::SimpleHexAtoi(token.substr(3, 2), &value)) {
    return false;
  }
  *byte = static_cast<char>(value);
  return true;
}

}  // namespace

absl::StatusOr<TokenText> TokenText::FromJson(const Json& decoder) {
  TokenText made;
  made.separates_ = decoder.is_null();
  if (!decoder.is_null()) TARTAN_RETURN_IF_ERROR(made.Add(decoder));
  return made;
}

absl::Status TokenText::Add(const Json& step) {
  const std::string type = step.StringOr("type", "unknown");
  const auto count = [&](absl::string_view name) {
    const double* number = step[name].number();
    return number == nullptr ? 0 : *number;
  };
  if (type == "Sequence" && step["decoders"].array() != nullptr) {
    for (const Json& one : *step["decoders"].array()) TARTAN_RETURN_IF_ERROR(Add(one));
  } else if (type == "ByteLevel") {
    is_bytes_ = true;
  } else if (type == "ByteFallback") {
    falls_back_to_bytes_ = true;
  } else if (type == "Replace" && step["pattern"]["String"].string() != nullptr &&
             step.StringOr("content", "") == " ") {
    mark_ = *step["pattern"]["String"].string();
  } else if (type == "Strip" && step.StringOr("content", "") == " " && count("start") <= 1 &&
             count("stop") == 0) {
    strips_space_ = count("start") == 1;
  } else if (type == "Metaspace") {
    mark_ = step.StringOr("replacement", "\xE2\x96\x81");
    strips_marks_ =
        step.StringOr("prepend_scheme",
                      step.BoolOr("add_prefix_space", true) ? "always" : "never") != "never";
  } else if (type != "Fuse") {
    return absl::UnimplementedError(
        absl::StrCat("the tokenizer's decoder ", type,
                     " is not supported; supported are ByteLevel, ByteFallback, Replace by a "
                     "space, Strip of one space, Metaspace, Fuse and Sequence"));
  }
  return absl::OkStatus();
}

std::string TokenText::Bytes(const std::string& token, bool is_first) const {
  std::string bytes;
  if (falls_back_to_bytes_ && IsByte(token, &bytes)) return bytes;
  if (is_bytes_) return CharactersAsBytes(token, &bytes) ? bytes : token;
  const char* space = is_first && strips_marks_ ? "" : " ";
  bytes = mark_.empty() ? token : absl::StrReplaceAll(token, {{mark_, space}});
  if (is_first && strips_space_ && absl::StartsWith(bytes, " ")) bytes.erase(0, 1);
  return separates_ && !is_first ? absl::StrCat(" ", bytes) : bytes;
}

}  // namespace tartan::generate
