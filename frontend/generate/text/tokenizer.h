// SPDX-License-Identifier: Apache-2.0
// Converts texts to tokens and back, as Hugging Face's tokenizer.json describes. Supports byte pair
// encoding on bytes (GPT-2, LLaMA 3, Qwen) and on characters with marks for spaces (LLaMA 2,
// Mistral).
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
  // `json` is the contents of the file. InvalidArgument for other files, Unimplemented, naming it,
  // for an unsupported kind of tokenizer.
  static absl::StatusOr<std::shared_ptr<const Tokenizer>> FromJson(absl::string_view json);

  // Returns the tokens of a UTF-8 text, including those that the file adds around every text.
  absl::StatusOr<std::vector<int64_t>> Encode(absl::string_view text) const;
  // The maximum token plus one.
  int64_t size() const { return size_; }
  // The token of a text that is a single token, such as "<|endoftext|>".
  std::optional<int64_t> Find(absl::string_view token) const;

  // False for special tokens, which are not part of a text.
  bool IsText(int64_t token) const { return special_.count(token) == 0; }
  // The bytes that a token adds to a text; empty for an unknown token.
  std::string Bytes(int64_t token, bool is_first) const;

 private:
  struct AddedToken {
    std::string content;
    int64_t id = 0;
    bool takes_left_space = false;
    bool takes_right_space = false;
    bool is_word = false;  // matches whole words only
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

  AddedTokens added_;       // found in the original text
  AddedTokens normalized_;  // found in the normalized text
  Normalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  Bpe bpe_;
  TokenText token_text_;
  std::unordered_map<int64_t, std::string> contents_;
  std::unordered_map<int64_t, std::string> added_contents_;
  std::unordered_set<int64_t> special_;
  std::vector<int64_t> before_;  // tokens around every text
  std::vector<int64_t> after_;
  int64_t size_ = 0;
};

// Decodes a stream of tokens without splitting characters. Invalid UTF-8 becomes U+FFFD.
class TextStream {
 public:
  // `is_first`: the first token begins a text; otherwise it continues one.
  TextStream(std::shared_ptr<const Tokenizer> tokenizer, bool is_first)
      : tokenizer_(std::move(tokenizer)), is_first_(is_first) {}

  // Returns the text that is complete so far.
  std::string Add(int64_t token);
  // Returns the rest: empty, or an incomplete character.
  std::string Finish();

 private:
  std::string Take(bool all);

  const std::shared_ptr<const Tokenizer> tokenizer_;
  bool is_first_;
  std::string waiting_;
};

}  // namespace tartan::generate
