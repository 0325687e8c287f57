// SPDX-License-Identifier: Apache-2.0
// Byte pair encoding: starts with the characters of a word and repeatedly merges the adjacent pair
// of lowest rank in a list of merges.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "frontend/generate/text/json.h"

namespace tartan::generate {

class Bpe {
 public:
  // Reads "model" of a tokenizer.json. Unimplemented, naming it, for a kind other than BPE and for
  // unsupported variants (word suffixes, dropout).
  static absl::StatusOr<Bpe> FromJson(const Json& model);

  // Appends the tokens of a word.
  void Encode(absl::string_view word, std::vector<int64_t>* tokens) const;

  std::optional<int64_t> Find(absl::string_view token) const;
  const std::unordered_map<std::string, int64_t>& vocabulary() const { return vocabulary_; }

 private:
  struct Merge {
    int64_t rank = 0;
    int64_t token = 0;
  };
  struct HashOfPair {
    size_t operator()(const std::pair<int64_t, int64_t>& pair) const {
      return static_cast<size_t>(pair.first) * 0x9E3779B97F4A7C15u ^
             static_cast<size_t>(pair.second);
    }
  };
  absl::Status ReadMerges(const Json& merges);
  // The tokens of the characters before any merge.
  std::vector<int64_t> Characters(absl::string_view word) const;

  std::unordered_map<std::string, int64_t> vocabulary_;
  std::unordered_map<std::pair<int64_t, int64_t>, Merge, HashOfPair> merges_;
  std::optional<int64_t> unknown_;
  bool fuses_unknown_ = false;
  bool falls_back_to_bytes_ = false;
  bool ignores_merges_ = false;  // words that are tokens are not split
};

}  // namespace tartan::generate
