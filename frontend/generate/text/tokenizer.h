// SPDX-License-Identifier: Apache-2.0
// Texts to tokens and back, as a tokenizer.json of Hugging Face says: byte pair encoding on bytes
// (GPT-2, LLaMA 3, Qwen) or on characters with marks for spaces (LLaMA 2, Mistral).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "frontend/generate/text/bpe.h"
#include "frontend/generate/text/normalizer.h"
#include "frontend/generate/text/pre_tokenizer.h"
#include "frontend/generate/text/token_text.h"

namespace tartan::generate {

// Immutable, thread-safe.
class Tokenizer {
 public:
  // `json`: the file's contents. InvalidArgument for what is no such file, Unimplemented for a kind
  // of tokenizer that is not there, by name.
  static absl::StatusOr<std::shared_ptr<const Tokenizer>> FromJson(absl::string_view json);

  // The tokens of a text in UTF-8, with those that the file puts around every text.
  absl::StatusOr<std::vector<int64_t>> Encode(absl::string_view text) const;
  // One more than the greatest token.
  int64_t size() const { return size_; }
  // The token of a text that is one, as "<|endoftext|>".
  std::optional<int64_t> Find(absl::string_view token) const;

  // False for special tokens, which no text shows.
  bool IsText(int64_t token) const { return special_.count(token) == 0; }
  // What a token adds to a text; nothing where there is no such token.
  std::string Bytes(int64_t token, bool is_first) const;

 private:
  struct AddedToken {
    std::string content;
    int64_t id = 0;
    bool takes_left_space = false;
    bool takes_right_space = false;
    bool is_word = false;  // no letter touches it
  };
  // Added tokens by their first byte, the longest first.
  using AddedTokens = std::array<std::vector<AddedToken>, 256>;
  struct Piece {
    std::string text;
    std::optional<int64_t> token;
  };

  absl::Status ReadAdded(const Json& added);
  absl::Status ReadFrame(const Json& processor);
  absl::Status ReadTemplate(const Json& processor);
  static std::vector<Piece> SplitAtAdded(const AddedTokens& added, absl::string_view text);

  AddedTokens added_;       // found in the text as it is
  AddedTokens normalized_;  // found in what the normalizer makes of it
  Normalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  Bpe bpe_;
  TokenText token_text_;
  std::unordered_map<int64_t, std::string> contents_;
  std::unordered_map<int64_t, std::string> added_contents_;
  std::unordered_set<int64_t> special_;
  std::vector<int64_t> before_;  // every text
  std::vector<int64_t> after_;
  int64_t size_ = 0;
};

// Gives out the text of tokens as they come, never half of a character. What is no UTF-8 becomes
// U+FFFD.
class TextStream {
 public:
  // `is_first`: the first token begins a text; else it goes on.
  TextStream(std::shared_ptr<const Tokenizer> tokenizer, bool is_first)
      : tokenizer_(std::move(tokenizer)), is_first_(is_first) {}

  // What can be given out now.
  std::string Add(int64_t token);
  // The rest: nothing, or a character that was cut off.
  std::string Finish();

 private:
  std::string Take(bool all);

  const std::shared_ptr<const Tokenizer> tokenizer_;
  bool is_first_;
  std::string waiting_;
};

}  // namespace tartan::generate
