// SPDX-License-Identifier: Apache-2.0
#include "frontend/generate/text/tokenizer.h"

#include <re2/re2.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontend/generate/text/utf8.h"
#include "tile/base/status_macros.h"

namespace tartan::generate {
namespace {

std::optional<int64_t> TokenOf(const Json& id) {
  const double* number = id.number();
  if (number == nullptr || *number < 0 || *number > 1 << 30 || *number != std::floor(*number)) {
    return std::nullopt;
  }
  return static_cast<int64_t>(*number);
}

// Number of bytes of spaces at the end or beginning of a text.
size_t SpaceBefore(absl::string_view text) {
  re2::StringPiece spaces;
  static const auto* const pattern = new RE2(absl::StrCat("([", kSpaces, "]*)$"));
  return RE2::PartialMatch({text.data(), text.size()}, *pattern, &spaces) ? spaces.size() : 0;
}
size_t SpaceAfter(absl::string_view text) {
  re2::StringPiece spaces;
  static const auto* const pattern = new RE2(absl::StrCat("^([", kSpaces, "]*)"));
  return RE2::PartialMatch({text.data(), text.size()}, *pattern, &spaces) ? spaces.size() : 0;
}

bool TouchesWord(absl::string_view before, absl::string_view behind) {
  static const auto* const ends = new RE2("[\\p{L}\\p{M}\\p{N}\\p{Pc}]$");
  static const auto* const begins = new RE2("^[\\p{L}\\p{M}\\p{N}\\p{Pc}]");
  return RE2::PartialMatch({before.data(), before.size()}, *ends) ||
         RE2::PartialMatch({behind.data(), behind.size()}, *begins);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Tokenizer>> Tokenizer::FromJson(absl::string_view json) {
  TARTAN_ASSIGN_OR_RETURN(const Json file, Json::Parse(json));
  if (file["model"].object() == nullptr) {
    return absl::InvalidArgumentError("it is not a tokenizer.json: it has no model");
  }
  auto made = std::make_shared<Tokenizer>();
  TARTAN_ASSIGN_OR_RETURN(made->bpe_, Bpe::FromJson(file["model"]));
  TARTAN_ASSIGN_OR_RETURN(made->normalizer_, Normalizer::FromJson(file["normalizer"]));
  TARTAN_ASSIGN_OR_RETURN(made->pre_tokenizer_, PreTokenizer::FromJson(file["pre_tokenizer"]));
  TARTAN_ASSIGN_OR_RETURN(made->token_text_, TokenText::FromJson(file["decoder"]));
  for (const auto& [token, id] : made->bpe_.vocabulary()) made->contents_[id] = token;
  TARTAN_RETURN_IF_ERROR(made->ReadAdded(file["added_tokens"]));
  TARTAN_RETURN_IF_ERROR(made->ReadFrame(file["post_processor"]));
  for (const auto* contents : {&made->contents_, &made->added_contents_}) {
    for (const auto& [id, token] : *contents) made->size_ = std::max(made->size_, id + 1);
  }
  return std::shared_ptr<const Tokenizer>(std::move(made));
}

absl::Status Tokenizer::ReadAdded(const Json& added) {
  if (added.array() == nullptr) return absl::OkStatus();
  for (const Json& one : *added.array()) {
    AddedToken token;
    token.content = one.StringOr("content", "");
    const std::optional<int64_t> id = TokenOf(one["id"]);
    if (!id || token.content.empty()) {
      return absl::InvalidArgumentError("an added token has no content or no id");
    }
    token.id = *id;
    token.takes_left_space = one.BoolOr("lstrip", false);
    token.takes_right_space = one.BoolOr("rstrip", false);
    token.is_word = one.BoolOr("single_word", false);
    added_contents_[token.id] = token.content;
    if (one.BoolOr("special", false)) special_.insert(token.id);
    AddedTokens* table = &added_;
    if (one.BoolOr("normalized", true)) {
      table = &normalized_;
      TARTAN_ASSIGN_OR_RETURN(token.content, normalizer_.Apply(token.content));
      if (token.content.empty()) continue;
    }
    (*table)[static_cast<uint8_t>(token.content[0])].push_back(std::move(token));
  }
  for (AddedTokens* table : {&added_, &normalized_}) {
    for (std::vector<AddedToken>& tokens : *table) {
      std::stable_sort(tokens.begin(), tokens.end(), [](const AddedToken& a, const AddedToken& b) {
        return a.content.size() > b.content.size();
      });
    }
  }
  return absl::OkStatus();
}

absl::Status Tokenizer::ReadFrame(const Json& processor) {
  if (processor.is_null()) return absl::OkStatus();
  const std::string type = processor.StringOr("type", "unknown");
  if (type == "ByteLevel") return absl::OkStatus();  // affects only offsets
  if (type == "Sequence" && processor["processors"].array() != nullptr) {
    for (const Json& one : *processor["processors"].array()) {
      TARTAN_RETURN_IF_ERROR(ReadFrame(one));
    }
    return absl::OkStatus();
  }
  if (type == "TemplateProcessing") return ReadTemplate(processor);
  return absl::UnimplementedError(
      absl::StrCat("the tokenizer's post-processor ", type,
                   " is not supported; supported are TemplateProcessing, ByteLevel and Sequence"));
}

absl::Status Tokenizer::ReadTemplate(const Json& processor) {
  if (processor["single"].array() == nullptr) {
    return absl::InvalidArgumentError("the tokenizer's template has no form for a single text");
  }
  std::vector<int64_t>* tokens = &before_;
  for (const Json& part : *processor["single"].array()) {
    if (part["Sequence"].object() != nullptr) {
      tokens = &after_;
      continue;
    }
    const std::string name = part["SpecialToken"].StringOr("id", "");
    const Json& ids = processor["special_tokens"][name]["ids"];
    if (ids.array() == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("the tokenizer's template has a token '", name, "' without an id"));
    }
    for (const Json& id : *ids.array()) {
      const std::optional<int64_t> token = TokenOf(id);
      if (!token) return absl::InvalidArgumentError("a token of the template has no id");
      tokens->push_back(*token);
    }
  }
  return absl::OkStatus();
}

std::vector<Tokenizer::Piece> Tokenizer::SplitAtAdded(const AddedTokens& added,
                                                      absl::string_view text) {
  std::vector<Piece> pieces;
  size_t done = 0;
  const auto add_text = [&](size_t end) {
    if (end > done) pieces.push_back({std::string(text.substr(done, end - done)), std::nullopt});
  };
  for (size_t at = 0; at < text.size();) {
    const std::vector<AddedToken>& tokens = added[static_cast<uint8_t>(text[at])];
    const auto found = std::find_if(tokens.begin(), tokens.end(), [&](const AddedToken& token) {
      return absl::StartsWith(text.substr(at), token.content) &&
             !(token.is_word &&
               TouchesWord(text.substr(0, at), text.substr(at + token.content.size())));
    });
    if (found == tokens.end()) {
      ++at;
      continue;
    }
    size_t begin = at;
    size_t end = at + found->content.size();
    if (found->takes_left_space) begin -= SpaceBefore(text.substr(done, at - done));
    if (found->takes_right_space) end += SpaceAfter(text.substr(end));
    add_text(begin);
    pieces.push_back({"", found->id});
    done = at = end;
  }
  add_text(text.size());
  return pieces;
}

absl::StatusOr<std::vector<int64_t>> Tokenizer::Encode(absl::string_view text) const {
  if (!IsUtf8(text)) return absl::InvalidArgumentError("the text is not UTF-8");
  std::vector<int64_t> tokens = before_;
  bool is_first = true;
  for (const Piece& piece : SplitAtAdded(added_, text)) {
    if (piece.token) tokens.push_back(*piece.token);
    TARTAN_ASSIGN_OR_RETURN(const std::string normalized, normalizer_.Apply(piece.text));
    for (const Piece& part : SplitAtAdded(normalized_, normalized)) {
      if (part.token) {
        tokens.push_back(*part.token);
      } else {
        TARTAN_ASSIGN_OR_RETURN(const std::vector<std::string> words,
                                pre_tokenizer_.Split(part.text, is_first));
        for (const std::string& word : words) bpe_.Encode(word, &tokens);
      }
      is_first = false;
    }
    is_first = false;
  }
  tokens.insert(tokens.end(), after_.begin(), after_.end());
  return tokens;
}

std::optional<int64_t> Tokenizer::Find(absl::string_view token) const {
  for (const auto& [id, content] : added_contents_) {
    if (content == token) return id;
  }
  return bpe_.Find(token);
}

std::string Tokenizer::Bytes(int64_t token, bool is_first) const {
  const auto added = added_contents_.find(token);
  if (added != added_contents_.end()) return token_text_.Bytes(added->second, is_first);
  const auto found = contents_.find(token);
  return found == contents_.end() ? "" : token_text_.Bytes(found->second, is_first);
}

std::string TextStream::Take(bool all) {
  std::string text;
  absl::string_view rest = waiting_;
  while (!rest.empty()) {
    const int length = Utf8Length(rest);
    if (length < 0 && !all) break;
    if (length > 0) {
      text.append(rest.data(), static_cast<size_t>(length));
      rest.remove_prefix(static_cast<size_t>(length));
      continue;
    }
    AppendUtf8(0xFFFD, &text);
    // A truncated character counts as one invalid character.
    size_t bad = 1;
    while (bad < rest.size() && Utf8Length(rest.substr(0, bad)) < 0 &&
           Utf8Length(rest.substr(0, bad + 1)) < 0) {
      ++bad;
    }
    rest.remove_prefix(bad);
  }
  waiting_ = std::string(rest);
  return text;
}

std::string TextStream::Add(int64_t token) {
  if (!tokenizer_->IsText(token)) return "";
  waiting_ += tokenizer_->Bytes(token, is_first_);
  is_first_ = false;
  return Take(/*all=*/false);
}

std::string TextStream::Finish() { return Take(/*all=*/true); }

}  // namespace tartan::generate
