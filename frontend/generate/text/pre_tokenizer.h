// SPDX-License-Identifier: Apache-2.0
// Splits a text into words, which byte pair encoding then splits into tokens.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/generate/text/json.h"

namespace re2 {
class RE2;
}

namespace tartan::generate {

// Maps each byte to one character: itself if it is printable, otherwise a character from U+0100 on.
std::string BytesAsCharacters(absl::string_view bytes);
// The inverse mapping; returns false for a character that represents no byte.
bool CharactersAsBytes(absl::string_view text, std::string* bytes);

class PreTokenizer {
 public:
  // Reads "pre_tokenizer" of a tokenizer.json; Unimplemented, naming it, for unsupported kinds.
  static absl::StatusOr<PreTokenizer> FromJson(const Json& pre_tokenizer);

  // Returns the words in the vocabulary's notation. `is_first`: the text is at the beginning of the
  // input. OutOfRange if the text grows beyond the limit (growth.h).
  absl::StatusOr<std::vector<std::string>> Split(const std::string& text, bool is_first) const;

 private:
  enum class Kind { kPattern, kBytes, kMetaspace };
  // Use of the text between matches: kept as words, the only words, left out.
  enum class Gaps { kKept, kOnly, kDropped };
  struct Step {
    Kind kind = Kind::kPattern;
    std::shared_ptr<const re2::RE2> pattern;
    // The group that replaces `\s+(?!\S)`; 0: none. If a non-space character follows its match, the
    // last space of the match belongs to the next word.
    int end_group = 0;
    Gaps gaps = Gaps::kKept;
    bool adds_space = false;  // kBytes: adds a space at the beginning if the text has none
    // Options of kMetaspace.
    std::string mark;
    bool marks_first = false;   // marks the beginning of the text
    bool marks_others = false;  // text after an added token is marked, too
    bool splits = true;
  };

  // Appends to `next` the result of the step for `word`.
  static void Apply(const Step& step, const std::string& word, bool is_first,
                    std::vector<std::string>* next);
  absl::Status Add(const Json& step);
  absl::Status AddPattern(const std::string& pattern, Gaps gaps);
  static void SplitByPattern(const Step& step, const std::string& word,
                             std::vector<std::string>* words);
  static void SplitAtMarks(const Step& step, const std::string& word, bool is_first,
                           std::vector<std::string>* words);

  std::vector<Step> steps_;
};

}  // namespace tartan::generate
