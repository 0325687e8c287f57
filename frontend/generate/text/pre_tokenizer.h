// SPDX-License-Identifier: Apache-2.0
// Divides a text into the words that byte pair encoding then divides into tokens.
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

// One character for each byte: itself where it can be seen, else one from U+0100 on.
std::string BytesAsCharacters(absl::string_view bytes);
// The bytes again; false where a character stands for none.
bool CharactersAsBytes(absl::string_view text, std::string* bytes);

class PreTokenizer {
 public:
  // "pre_tokenizer" of a tokenizer.json; Unimplemented, by name, for what is not there.
  static absl::StatusOr<PreTokenizer> FromJson(const Json& pre_tokenizer);

  // `is_first`: nothing comes before the text. The words as the vocabulary writes them. OutOfRange
  // where the text grows beyond reason (growth.h).
  absl::StatusOr<std::vector<std::string>> Split(const std::string& text, bool is_first) const;

 private:
  enum class Kind { kPattern, kBytes, kMetaspace };
  enum class Gaps { kKept, kOnly, kLeftOut };  // what lies between matches: kept, all, left out
  struct Step {
    Kind kind = Kind::kPattern;
    std::shared_ptr<const re2::RE2> pattern;
    // Behind the marked alternative no character follows that is no space: the last space of a run
    // belongs to the word behind.
    int end_group = 0;
    Gaps gaps = Gaps::kKept;
    bool adds_space = false;  // kBytes: before a text that has none
    // kMetaspace.
    std::string mark;
    bool marks_first = false;   // the beginning of the text
    bool marks_others = false;  // of what follows an added token
    bool splits = true;
  };

  // Appends to `next` what the step makes of `word`.
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
