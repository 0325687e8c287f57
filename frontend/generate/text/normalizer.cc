// SPDX-License-Identifier: Apache-2.0
#include "frontend/generate/text/normalizer.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "frontend/generate/text/growth.h"
#include "frontend/generate/text/utf8.h"
#include "tile/base/status_macros.h"

namespace tartan::generate {
namespace {

// Ranges (first, last) of characters that NFC may change or combine with the previous one:
// NFC_Quick_Check is not Yes. Some ranges include unassigned characters.
constexpr std::pair<uint32_t, uint32_t> kMayChange[] = {
    {0x300, 0x304},     {0x306, 0x30C},     {0x30F, 0x30F},     {0x311, 0x311},
    {0x313, 0x314},     {0x31B, 0x31B},     {0x323, 0x328},     {0x32D, 0x32E},
    {0x330, 0x331},     {0x338, 0x338},     {0x340, 0x345},     {0x374, 0x374},
    {0x37E, 0x37E},     {0x387, 0x387},     {0x653, 0x655},     {0x93C, 0x93C},
    {0x958, 0x95F},     {0x9BE, 0x9BE},     {0x9D7, 0x9D7},     {0x9DC, 0x9DF},
    {0xA33, 0xA36},     {0xA59, 0xA5E},     {0xB3E, 0xB3E},     {0xB56, 0xB57},
    {0xB5C, 0xB5D},     {0xBBE, 0xBBE},     {0xBD7, 0xBD7},     {0xC56, 0xC56},
    {0xCC2, 0xCC2},     {0xCD5, 0xCD6},     {0xD3E, 0xD3E},     {0xD57, 0xD57},
    {0xDCA, 0xDCA},     {0xDCF, 0xDCF},     {0xDDF, 0xDDF},     {0xF43, 0xF43},
    {0xF4D, 0xF4D},     {0xF52, 0xF52},     {0xF57, 0xF57},     {0xF5C, 0xF5C},
    {0xF69, 0xF69},     {0xF73, 0xF78},     {0xF81, 0xF81},     {0xF93, 0xF93},
    {0xF9D, 0xF9D},     {0xFA2, 0xFA2},     {0xFA7, 0xFA7},     {0xFAC, 0xFAC},
    {0xFB9, 0xFB9},     {0x102E, 0x102E},   {0x1161, 0x1175},   {0x11A8, 0x11C2},
    {0x1B35, 0x1B35},   {0x1F71, 0x1F71},   {0x1F73, 0x1F73},   {0x1F75, 0x1F75},
    {0x1F77, 0x1F77},   {0x1F79, 0x1F79},   {0x1F7B, 0x1F7B},   {0x1F7D, 0x1F7D},
    {0x1FBB, 0x1FBB},   {0x1FBE, 0x1FBE},   {0x1FC9, 0x1FC9},   {0x1FCB, 0x1FCB},
    {0x1FD3, 0x1FD3},   {0x1FDB, 0x1FDB},   {0x1FE3, 0x1FE3},   {0x1FEB, 0x1FEF},
    {0x1FF9, 0x1FF9},   {0x1FFB, 0x1FFD},   {0x2000, 0x2001},   {0x2126, 0x2126},
    {0x212A, 0x212B},   {0x2329, 0x232A},   {0x2ADC, 0x2ADC},   {0x3099, 0x309A},
    {0xF900, 0xFB4E},   {0x110BA, 0x110BA}, {0x11127, 0x11127}, {0x1133E, 0x1133E},
    {0x11357, 0x11357}, {0x114B0, 0x114BD}, {0x115AF, 0x115AF}, {0x11930, 0x11930},
    {0x1D15E, 0x1D164}, {0x1D1BB, 0x1D1C0}, {0x2F800, 0x2FA1D}};

absl::Status CheckNfc(absl::string_view text) {
  while (!text.empty()) {
    const uint32_t code = CodeOf(text);
    for (const auto& [first, last] : kMayChange) {
      if (code < first || code > last) continue;
      return absl::UnimplementedError(
          absl::StrFormat("the tokenizer normalizes texts to NFC, which may change U+%04X; give a "
                          "text in NFC without that character, or tokens",
                          code));
    }
    text.remove_prefix(static_cast<size_t>(std::max(1, Utf8Length(text))));
  }
  return absl::OkStatus();
}

// The size of `text` with `from` replaced by `to`.
uint64_t SizeReplaced(absl::string_view text, absl::string_view from, absl::string_view to) {
  uint64_t size = text.size();
  for (size_t at = text.find(from); at != absl::string_view::npos;
       at = text.find(from, at + from.size())) {
    size += to.size() - from.size();  // modulo 2^64
  }
  return size;
}

}  // namespace

absl::StatusOr<Normalizer> Normalizer::FromJson(const Json& normalizer) {
  Normalizer made;
  if (!normalizer.is_null()) TARTAN_RETURN_IF_ERROR(made.Add(normalizer));
  return made;
}

absl::Status Normalizer::Add(const Json& step) {
  const std::string type = step.StringOr("type", "unknown");
  if (type == "Sequence" && step["normalizers"].array() != nullptr) {
    for (const Json& one : *step["normalizers"].array()) TARTAN_RETURN_IF_ERROR(Add(one));
    return absl::OkStatus();
  }
  const std::string* pattern = step["pattern"]["String"].string();
  if (type == "Prepend") {
    steps_.push_back({Kind::kPrepend, "", step.StringOr("prepend", "")});
  } else if (type == "Replace" && pattern != nullptr && !pattern->empty()) {
    steps_.push_back({Kind::kReplace, *pattern, step.StringOr("content", "")});
  } else if (type == "NFC") {
    steps_.push_back({Kind::kNfc, "", ""});
  } else {
    return absl::UnimplementedError(absl::StrCat(
        "the tokenizer's normalizer ", type, type == "Replace" ? " with a pattern" : "",
        " is not supported; supported are Prepend, Replace, NFC and Sequence"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Normalizer::Apply(std::string text) const {
  const size_t bytes = text.size();
  for (const Step& step : steps_) {
    switch (step.kind) {
      case Kind::kPrepend:
        TARTAN_RETURN_IF_ERROR(CheckGrowth("normalizer", text.size() + step.to.size(), bytes));
        if (!text.empty()) text = step.to + text;
        break;
      case Kind::kReplace:
        TARTAN_RETURN_IF_ERROR(
            CheckGrowth("normalizer", SizeReplaced(text, step.from, step.to), bytes));
        text = absl::StrReplaceAll(text, {{step.from, step.to}});
        break;
      case Kind::kNfc:
        TARTAN_RETURN_IF_ERROR(CheckNfc(text));
        break;
    }
  }
  return text;
}

}  // namespace tartan::generate
