// SPDX-License-Identifier: Apache-2.0
// com.microsoft's Tokenizer splits strings into tokens by regular expressions. Exporters of
// scikit-learn's vectorizers write it.
#include <re2/re2.h>

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/microsoft/families.h"
#include "frontend/onnx/families/microsoft/operators.h"
#include "frontend/onnx/families/shared/words.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

using Tokens = std::vector<absl::string_view>;

// Maximum tokens of the result; more are an error in the model or an attack.
constexpr size_t kMaxTokens = size_t{1} << 22;

// The bytes of the UTF-8 character at `position`; 1 for invalid UTF-8.
size_t CharacterBytes(absl::string_view text, size_t position) {
  const auto is_following = [&](size_t i) {
    return i < text.size() && (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80;
  };
  size_t end = position + 1;
  while (is_following(end)) ++end;
  return end - position;
}

int64_t CharacterCount(absl::string_view text) {
  int64_t count = 0;
  for (size_t i = 0; i < text.size(); i += CharacterBytes(text, i)) ++count;
  return count;
}

Tokens Characters(absl::string_view text) {
  Tokens characters;
  for (size_t i = 0; i < text.size();) {
    const size_t bytes = CharacterBytes(text, i);
    characters.push_back(text.substr(i, bytes));
    i += bytes;
  }
  return characters;
}

using Expression = std::unique_ptr<const RE2>;

// Compiles with RE2, whose time is linear in the text for every pattern. Among several matches at
// one position the longest is taken.
absl::StatusOr<Expression> Compile(absl::string_view attribute, const std::string& pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_longest_match(true);
  auto expression = std::make_unique<const RE2>(pattern, options);
  if (expression->ok()) return Expression(std::move(expression));
  return Invalid("attribute '", attribute, "': ", expression->error(), " in '", pattern, "'");
}

// Calls `found` with the begin and end of each match, from left to right. After an empty match the
// search continues after the next character.
template <class Found>
void ForEachMatch(const RE2& expression, absl::string_view text, const Found& found) {
  size_t from = 0;
  re2::StringPiece match;
  const re2::StringPiece whole(text.data(), text.size());
  while (from < text.size() &&
         expression.Match(whole, from, text.size(), RE2::UNANCHORED, &match, 1)) {
    const size_t begin = static_cast<size_t>(match.data() - text.data());
    const size_t end = begin + match.size();
    found(begin, end);
    from = end;
    if (match.empty() && from < text.size()) from += CharacterBytes(text, from);
  }
}

// The parts of `text` between separators. A character after an empty match is dropped too.
void SplitAtMatches(const RE2& separator, absl::string_view text, Tokens* tokens) {
  size_t from = 0;
  ForEachMatch(separator, text, [&](size_t begin, size_t end) {
    if (begin > from) tokens->push_back(text.substr(from, begin - from));
    from = end;
    if (begin == end && from < text.size()) from += CharacterBytes(text, from);
  });
  if (from < text.size()) tokens->push_back(text.substr(from));
}

// Splits a text into tokens: its characters, the parts between separators, or the matches of an
// expression.
struct Splitter {
  bool takes_characters = false;
  std::vector<Expression> separators;
  Expression token;
  int64_t least_characters = 1;

  Tokens Split(absl::string_view text) const {
    if (takes_characters) return Characters(text);
    Tokens tokens;
    if (token != nullptr) {
      ForEachMatch(*token, text, [&](size_t begin, size_t end) {
        if (end > begin) tokens.push_back(text.substr(begin, end - begin));
      });
    } else {
      tokens = {text};
      for (const Expression& separator : separators) {
        Tokens finer;
        for (const absl::string_view part : tokens) SplitAtMatches(*separator, part, &finer);
        tokens = std::move(finer);
      }
    }
    const auto is_short = [&](absl::string_view t) { return CharacterCount(t) < least_characters; };
    tokens.erase(std::remove_if(tokens.begin(), tokens.end(), is_short), tokens.end());
    return tokens;
  }
};

// The token expression "." is any character, including line ends, which RE2 would not match.
absl::StatusOr<Splitter> ReadSplitter(const NodeContext& context) {
  Splitter splitter;
  TARTAN_ASSIGN_OR_RETURN(splitter.least_characters, context.Int("mincharnum"));
  if (splitter.least_characters < 1) {
    return Invalid("attribute 'mincharnum' is ", splitter.least_characters);
  }
  if (context.HasAttribute("separators")) {
    TARTAN_ASSIGN_OR_RETURN(const std::vector<std::string> separators,
                            context.Strings("separators"));
    if (separators.empty()) return Invalid("attribute 'separators' is empty");
    splitter.takes_characters = separators.size() == 1 && separators[0].empty();
    for (const std::string& separator : separators) {
      TARTAN_ASSIGN_OR_RETURN(splitter.separators.emplace_back(), Compile("separators", separator));
    }
  } else {
    TARTAN_ASSIGN_OR_RETURN(const std::string pattern, context.String("tokenexp"));
    if (pattern.empty()) return Invalid("attribute 'tokenexp' is empty");
    splitter.takes_characters = pattern == ".";
    TARTAN_ASSIGN_OR_RETURN(splitter.token, Compile("tokenexp", pattern));
  }
  if (splitter.takes_characters && splitter.least_characters > 1) {
    return Invalid("attribute 'mincharnum' is ", splitter.least_characters,
                   " where tokens are single characters");
  }
  return splitter;
}

// Maps strings [C] or [N, C] to tokens [C, D] or [N, C, D], padded with `pad_value`. With `mark`,
// begin and end marks enclose each text's tokens, unless no text has tokens.
OutputValues Tokenizer(NodeContext& context) {
  TARTAN_RETURN_IF_ERROR(ExpectStrings(context, 0));
  TARTAN_ASSIGN_OR_RETURN(const Splitter splitter, ReadSplitter(context));
  TARTAN_ASSIGN_OR_RETURN(const std::string pad, context.String("pad_value"));
  TARTAN_ASSIGN_OR_RETURN(const int64_t mark, context.Int("mark"));
  std::vector<int64_t> dims = context.input(0).dims();
  if (dims.empty() || dims.size() > 2) {
    return Invalid("strings ", DimsToString(dims), ", expected [C] or [N, C]");
  }
  TARTAN_ASSIGN_OR_RETURN(const std::vector<std::string> texts, StringsOf(context, 0));
  if (texts.empty()) {
    dims.back() = 0;
    return std::vector<Value>{StringsValue(dims, {})};
  }
  std::vector<Tokens> rows;
  size_t width = 0;
  for (const std::string& text : texts) {
    rows.push_back(splitter.Split(text));
    width = std::max(width, rows.back().size());
  }
  if (mark != 0 && width > 0) width += 2;
  if (texts.size() * width > kMaxTokens) {
    return absl::ResourceExhaustedError(
        absl::StrCat(texts.size(), " strings of up to ", width, " tokens"));
  }
  std::vector<std::string> filled;
  for (const Tokens& row : rows) {
    const size_t end = filled.size() + width;
    if (mark != 0 && width > 0) filled.emplace_back("\x02");
    for (const absl::string_view token : row) filled.emplace_back(token);
    if (mark != 0 && width > 0) filled.emplace_back("\x03");
    filled.resize(end, pad);
  }
  dims.push_back(static_cast<int64_t>(width));
  return std::vector<Value>{StringsValue(dims, filled)};
}

constexpr OperatorRow kOperators[] = {
    In(kMicrosoftDomain, ValueRow("Tokenizer", 1, {1, 1}, Tokenizer)),
};

}  // namespace

absl::Span<const OperatorRow> MicrosoftTokenizerOperators() { return kOperators; }

}  // namespace tartan::onnx
