// SPDX-License-Identifier: Apache-2.0
#include "frontend/generate/text/bpe.h"

#include <cmath>
#include <queue>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frontend/generate/text/utf8.h"
#include "tile/base/status_macros.h"

namespace tartan::generate {
namespace {

constexpr double kMaxToken = 1 << 30;

}  // namespace

absl::StatusOr<Bpe> Bpe::FromJson(const Json& model) {
  const std::string type =
      model.StringOr("type", model["merges"].array() != nullptr ? "BPE" : "unknown");
  if (type != "BPE") {
    return absl::UnimplementedError(
        absl::StrCat("the tokenizer's model is ", type, "; only BPE is supported"));
  }
  for (const char* name : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!model.StringOr(name, "").empty()) {
      return absl::UnimplementedError(
          absl::StrCat("the tokenizer's model has an unsupported field, ", name));
    }
  }
  if (const double* dropout = model["dropout"].number(); dropout != nullptr && *dropout > 0) {
    return absl::UnimplementedError(
        "the tokenizer's model drops merges at random, which is not supported");
  }
  Bpe bpe;
  const Json::Object* vocabulary = model["vocab"].object();
  if (vocabulary == nullptr) return absl::InvalidArgumentError("the model has no vocab");
  bpe.vocabulary_.reserve(vocabulary->size());
  for (const auto& [token, id] : *vocabulary) {
    const double* number = id.number();
    if (number == nullptr || *number < 0 || *number > kMaxToken || *number != std::floor(*number)) {
      return absl::InvalidArgumentError(absl::StrCat("the token '", token, "' has no valid id"));
    }
    bpe.vocabulary_[token] = static_cast<int64_t>(*number);
  }
  TARTAN_RETURN_IF_ERROR(bpe.ReadMerges(model["merges"]));
  if (const std::string* unknown = model["unk_token"].string()) {
    bpe.unknown_ = bpe.Find(*unknown);
    if (!bpe.unknown_) {
      return absl::InvalidArgumentError(
          absl::StrCat("the unk_token '", *unknown, "' is not in the vocab"));
    }
  }
  bpe.fuses_unknown_ = model.BoolOr("fuse_unk", false);
  bpe.falls_back_to_bytes_ = model.BoolOr("byte_fallback", false);
  bpe.ignores_merges_ = model.BoolOr("ignore_merges", false);
  return bpe;
}

absl::Status Bpe::ReadMerges(const Json& merges) {
  if (merges.array() == nullptr) return absl::InvalidArgumentError("the model has no merges");
  merges_.reserve(merges.array()->size());
  for (const Json& merge : *merges.array()) {
    std::string left;
    std::string right;
    if (const std::string* text = merge.string()) {
      const size_t space = text->find(' ');
      left = text->substr(0, space);
      right = space == std::string::npos ? "" : text->substr(space + 1);
    } else if (merge.array() != nullptr && merge.array()->size() == 2 &&
               merge.array()->at(0).string() != nullptr &&
               merge.array()->at(1).string() != nullptr) {
      left = *merge.array()->at(0).string();
      right = *merge.array()->at(1).string();
    }
    const std::optional<int64_t> first = Find(left);
    const std::optional<int64_t> second = Find(right);
    const std::optional<int64_t> joined = Find(left + right);
    if (!first || !second || !joined) {
      return absl::InvalidArgumentError(absl::StrCat("merge ", merges_.size(), ", '", left, "' '",
                                                     right,
                                                     "', has tokens that are not in the vocab"));
    }
    const auto rank = static_cast<int64_t>(merges_.size());
    merges_.insert_or_assign({*first, *second}, Merge{rank, *joined});
  }
  return absl::OkStatus();
}

std::optional<int64_t> Bpe::Find(absl::string_view token) const {
  const auto found = vocabulary_.find(std::string(token));
  if (found == vocabulary_.end()) return std::nullopt;
  return found->second;
}

std::vector<int64_t> Bpe::Characters(absl::string_view word) const {
  std::vector<int64_t> tokens;
  bool was_unknown = false;
  while (!word.empty()) {
    const int length = std::max(1, Utf8Length(word));
    const absl::string_view character = word.substr(0, static_cast<size_t>(length));
    word.remove_prefix(character.size());
    if (const std::optional<int64_t> token = Find(character)) {
      tokens.push_back(*token);
      was_unknown = false;
      continue;
    }
    std::vector<int64_t> bytes;
    for (const char byte : character) {
      const std::optional<int64_t> token =
          Find(absl::StrFormat("<0x%02X>", static_cast<uint8_t>(byte)));
      if (token) bytes.push_back(*token);
    }
    if (falls_back_to_bytes_ && bytes.size() == character.size()) {
      tokens.insert(tokens.end(), bytes.begin(), bytes.end());
      was_unknown = false;
    } else if (unknown_) {
      if (!was_unknown || !fuses_unknown_) tokens.push_back(*unknown_);
      was_unknown = true;
    }
  }
  return tokens;
}

void Bpe::Encode(absl::string_view word, std::vector<int64_t>* tokens) const {
  if (ignores_merges_) {
    if (const std::optional<int64_t> whole = Find(word)) return tokens->push_back(*whole);
  }
  const std::vector<int64_t> characters = Characters(word);
  // A doubly linked list of symbols; a merge removes the second of two. Candidate merges are in a
  // queue by rank, then from left to right. Stale candidates are skipped when they are taken.
  struct Symbol {
    int64_t token = 0;
    int64_t before = 0;
    int64_t after = 0;
  };
  const auto count = static_cast<int64_t>(characters.size());
  std::vector<Symbol> symbols;
  for (int64_t i = 0; i < count; ++i) symbols.push_back({characters[i], i - 1, i + 1});
  using Candidate = std::tuple<int64_t, int64_t, int64_t, int64_t>;  // rank, place, the pair
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> waiting;
  const auto consider = [&](int64_t left) {
    if (left < 0 || symbols[left].after >= count) return;
    const int64_t right = symbols[left].after;
    const auto merge = merges_.find({symbols[left].token, symbols[right].token});
    if (merge == merges_.end()) return;
    waiting.emplace(merge->second.rank, left, symbols[left].token, symbols[right].token);
  };
  for (int64_t i = 0; i < count; ++i) consider(i);
  while (!waiting.empty()) {
    const auto [rank, left, first, second] = waiting.top();
    waiting.pop();
    const int64_t right = symbols[left].after;
    if (symbols[left].token != first || right >= count || symbols[right].token != second) continue;
    symbols[left].token = merges_.at({first, second}).token;
    symbols[left].after = symbols[right].after;
    symbols[right].token = -1;
    if (symbols[left].after < count) symbols[symbols[left].after].before = left;
    consider(symbols[left].before);
    consider(left);
  }
  for (int64_t i = 0; i < count; i = symbols[i].after) tokens->push_back(symbols[i].token);
}

}  // namespace tartan::generate
