// SPDX-License-Identifier: Apache-2.0
#include "frontend/generate/text/pre_tokenizer.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "frontend/generate/text/growth.h"
#include "frontend/generate/text/utf8.h"
#include "tile/base/status_macros.h"

namespace tartan::generate {
namespace {

constexpr char kGpt2[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
const std::array<uint32_t, 256>& CharacterOfByte() {
  static const auto* const table = [] {
    auto* made = new std::array<uint32_t, 256>();
    uint32_t next = 256;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const bool is_seen = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte != 0xAD);
      (*made)[byte] = is_seen ? byte : next++;
    }
    return made;
  }();
  return *table;
}

// Translates a pattern to RE2. `end_group` is set to the group that replaces `\s+(?!\S)` (0: none).
absl::StatusOr<std::string> ForRe2(const std::string& pattern, int* end_group) {
  constexpr absl::string_view kEnd = "\\s+(?!\\S)";
  const auto refuse = [&](absl::string_view what) {
    return absl::UnimplementedError(
        absl::StrCat("the tokenizer's pattern ", pattern, " has ", what));
  };
  std::string text;
  bool in_class = false;
  int groups = 0;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const absl::string_view rest = absl::string_view(pattern).substr(i);
    const char c = pattern[i];
    if (!in_class && absl::StartsWith(rest, kEnd)) {
      if (*end_group > 0) return refuse("two lookaheads for trailing spaces");
      *end_group = ++groups;
      absl::StrAppend(&text, "([", kSpaces, "]+)");
      i += kEnd.size() - 1;
    } else if (c == '\\' && i + 1 < pattern.size()) {
      const char next = pattern[++i];
      const std::map<char, std::string> classes = {
          {'s', kSpaces}, {'d', "\\p{Nd}"}, {'w', "\\p{L}\\p{M}\\p{N}\\p{Pc}"}};
      const auto known = classes.find(next);
      if (known != classes.end()) {
        absl::StrAppend(&text, in_class ? known->second : absl::StrCat("[", known->second, "]"));
      } else if (next == 'S' || next == 'D' || next == 'W') {
        if (in_class) return refuse("a class within a class");
        const char lower = static_cast<char>(next - 'A' + 'a');
        absl::StrAppend(&text, "[^", classes.at(lower), "]");
      } else {
        absl::StrAppend(&text, "\\", std::string(1, next));
      }
    } else if (!in_class && c == '(' && !absl::StartsWith(rest, "(?:") &&
               !absl::StartsWith(rest, "(?i:")) {
      if (absl::StartsWith(rest, "(?")) return refuse("a lookaround group");
      ++groups;
      text += c;
    } else {
      if (c == '[') {
        if (in_class && absl::StartsWith(rest, "[:") == false)
          return refuse("a class within a class");
        in_class = true;
      }
      if (c == ']') in_class = false;
      text += c;
    }
  }
  return text;
}

void AddWord(absl::string_view word, std::vector<std::string>* words) {
  if (!word.empty()) words->emplace_back(word);
}

}  // namespace

std::string BytesAsCharacters(absl::string_view bytes) {
  std::string text;
  for (const char byte : bytes) AppendUtf8(CharacterOfByte()[static_cast<uint8_t>(byte)], &text);
  return text;
}

bool CharactersAsBytes(absl::string_view text, std::string* bytes) {
  static const auto* const table = [] {
    auto* made = new std::map<uint32_t, char>();
    for (int byte = 0; byte < 256; ++byte) {
      (*made)[CharacterOfByte()[static_cast<size_t>(byte)]] = static_cast<char>(byte);
    }
    return made;
  }();
  bytes->clear();
  while (!text.empty()) {
    const auto found = table->find(CodeOf(text));
    if (found == table->end()) return false;
    *bytes += found->second;
    text.remove_prefix(static_cast<size_t>(Utf8Length(text)));
  }
  return true;
}

absl::StatusOr<PreTokenizer> PreTokenizer::FromJson(const Json& pre_tokenizer) {
  PreTokenizer made;
  if (!pre_tokenizer.is_null()) TARTAN_RETURN_IF_ERROR(made.Add(pre_tokenizer));
  return made;
}

absl::Status PreTokenizer::AddPattern(const std::string& pattern, Gaps gaps) {
  Step step;
  TARTAN_ASSIGN_OR_RETURN(const std::string text, ForRe2(pattern, &step.end_group));
  RE2::Options options;
  options.set_log_errors(false);
  auto compiled = std::make_shared<const RE2>(text, options);
  if (!compiled->ok()) {
    return absl::UnimplementedError(absl::StrCat("the tokenizer's pattern ", pattern,
                                                 " is not supported: ", compiled->error()));
  }
  step.pattern = std::move(compiled);
  step.gaps = gaps;
  steps_.push_back(std::move(step));
  return absl::OkStatus();
}

absl::Status PreTokenizer::Add(const Json& step) {
  const std::string type = step.StringOr("type", "unknown");
  if (type == "Sequence" && step["pretokenizers"].array() != nullptr) {
    for (const Json& one : *step["pretokenizers"].array()) TARTAN_RETURN_IF_ERROR(Add(one));
    return absl::OkStatus();
  }
  if (type == "ByteLevel") {
    Step bytes;
    bytes.kind = Kind::kBytes;
    bytes.adds_space = step.BoolOr("add_prefix_space", true);
    steps_.push_back(bytes);
    const bool uses_pattern = step.BoolOr("use_regex", true);
    if (uses_pattern) TARTAN_RETURN_IF_ERROR(AddPattern(kGpt2, Gaps::kKept));
    // Three steps: add a space, split into words, map bytes to characters.
    Step characters;
    characters.kind = Kind::kBytes;
    characters.splits = false;
    steps_.push_back(characters);
    return absl::OkStatus();
  }
  if (type == "Digits") {
    return AddPattern(step.BoolOr("individual_digits", false) ? "\\p{N}" : "\\p{N}+", Gaps::kKept);
  }
  if (type == "Metaspace") {
    Step marks;
    marks.kind = Kind::kMetaspace;
    marks.mark = step.StringOr("replacement", "\xE2\x96\x81");
    const std::string scheme =
        step.StringOr("prepend_scheme", step.BoolOr("add_prefix_space", true) ? "always" : "never");
    marks.marks_first = scheme != "never";
    marks.marks_others = scheme == "always";
    marks.splits = step.BoolOr("split", true);
    steps_.push_back(marks);
    return absl::OkStatus();
  }
  if (type == "Split") {
    const std::string behavior = step.StringOr("behavior", "");
    const bool is_inverted = step.BoolOr("invert", false);
    const std::string* pattern = step["pattern"]["Regex"].string();
    const std::string* plain = step["pattern"]["String"].string();
    if ((pattern != nullptr || plain != nullptr) &&
        (behavior == "Isolated" || behavior == "Removed")) {
      const Gaps gaps = behavior == "Isolated" ? Gaps::kKept
                        : is_inverted          ? Gaps::kDropped
                                               : Gaps::kOnly;
      return AddPattern(pattern != nullptr ? *pattern : RE2::QuoteMeta(*plain), gaps);
    }
    return absl::UnimplementedError(
        absl::StrCat("the tokenizer's Split with behavior ", behavior, " is not supported"));
  }
  return absl::UnimplementedError(absl::StrCat(
      "the tokenizer's pre-tokenizer ", type,
      " is not supported; supported are ByteLevel, Split, Digits, Metaspace and Sequence"));
}

void PreTokenizer::SplitByPattern(const Step& step, const std::string& word,
                                  std::vector<std::string>* words) {
  const absl::string_view text = word;
  size_t done = 0;  // end of the text that has been processed
  size_t at = 0;
  std::vector<re2::StringPiece> groups(static_cast<size_t>(step.end_group) + 1);
  while (at <= text.size() && step.pattern->Match(word, at, word.size(), RE2::UNANCHORED,
                                                  groups.data(), static_cast<int>(groups.size()))) {
    const auto begin = static_cast<size_t>(groups[0].data() - word.data());
    size_t end = begin + groups[0].size();
    if (step.end_group > 0 && groups[static_cast<size_t>(step.end_group)].data() != nullptr &&
        end < text.size()) {
      // Leaves the last space to the next word, if the match has more than one.
      size_t last = end - 1;
      while ((static_cast<uint8_t>(text[last]) & 0xC0) == 0x80) --last;
      if (last > begin) end = last;
    }
    if (step.gaps != Gaps::kDropped) AddWord(text.substr(done, begin - done), words);
    if (step.gaps != Gaps::kOnly) AddWord(text.substr(begin, end - begin), words);
    done = end;
    at = end > begin ? end : end + 1;
  }
  if (step.gaps != Gaps::kDropped) AddWord(text.substr(done), words);
}

void PreTokenizer::SplitAtMarks(const Step& step, const std::string& word, bool is_first,
                                std::vector<std::string>* words) {
  std::string text = absl::StrReplaceAll(word, {{" ", step.mark}});
  const bool marks = is_first ? step.marks_first : step.marks_others;
  if (marks && !absl::StartsWith(text, step.mark)) text = step.mark + text;
  if (!step.splits || step.mark.empty()) return AddWord(text, words);
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.size(), text.find(step.mark, begin + 1));
    AddWord(absl::string_view(text).substr(begin, end - begin), words);
    begin = end;
  }
}

void PreTokenizer::Apply(const Step& step, const std::string& word, bool is_first,
                         std::vector<std::string>* next) {
  switch (step.kind) {
    case Kind::kPattern:
      return SplitByPattern(step, word, next);
    case Kind::kMetaspace:
      return SplitAtMarks(step, word, is_first, next);
    case Kind::kBytes:
      if (!step.splits) return next->push_back(BytesAsCharacters(word));
      next->push_back(step.adds_space && !absl::StartsWith(word, " ") ? " " + word : word);
  }
}

absl::StatusOr<std::vector<std::string>> PreTokenizer::Split(const std::string& text,
                                                             bool is_first) const {
  std::vector<std::string> words = {text};
  for (const Step& step : steps_) {
    std::vector<std::string> next;
    bool is_begin = is_first;
    uint64_t bytes = 0;
    for (const std::string& word : words) {
      const auto spaces = static_cast<uint64_t>(std::count(word.begin(), word.end(), ' '));
      bytes += word.size() + (spaces + 1) * step.mark.size();
      TARTAN_RETURN_IF_ERROR(CheckGrowth("pre-tokenizer", bytes, text.size()));
      Apply(step, word, is_begin, &next);
      is_begin = false;
    }
    words = std::move(next);
  }
  return words;
}

}  // namespace tartan::generate
