// SPDX-License-Identifier: Apache-2.0
// Tests that tokenizers of every kind give the same results as the package tokenizers.
// scripts/write_tokenizer_cases.py writes the cases.
#include "frontend/generate/text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "frontend/generate/text/utf8.h"

namespace tartan::generate::tokenizer_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string ReadCases(const std::string& name) {
  const char* source = std::getenv("TARTAN_SOURCE_DIR");
  const std::string path = absl::StrCat(source == nullptr ? "." : source,
                                        "/tests/frontend/generate/data/", name, ".json");
  std::ifstream stream(path);
  EXPECT_TRUE(stream.good()) << path;
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

// The text of the value of `name`, which the member `next` follows.
std::string Member(const std::string& document, const std::string& name, const std::string& next) {
  const size_t begin = document.find(absl::StrCat("\"", name, "\": ")) + name.size() + 4;
  return document.substr(begin, document.find(absl::StrCat(", \"", next, "\": [{")) - begin);
}

std::vector<int64_t> Numbers(const Json& array) {
  std::vector<int64_t> numbers;
  for (const Json& one : *array.array()) numbers.push_back(static_cast<int64_t>(*one.number()));
  return numbers;
}

std::string Decode(const std::shared_ptr<const Tokenizer>& tokenizer,
                   const std::vector<int64_t>& tokens) {
  TextStream stream(tokenizer, /*is_first=*/true);
  std::string text;
  for (const int64_t token : tokens) {
    text += stream.Add(token);
    EXPECT_TRUE(IsUtf8(text)) << text;  // never a part of a character
  }
  return text + stream.Finish();
}

class Tokenizers : public testing::TestWithParam<std::string> {};

TEST_P(Tokenizers, GiveTheTokensAndTextsOfThePackage) {
  const std::string text = ReadCases(GetParam());
  auto document = Json::Parse(text);
  ASSERT_TRUE(document.ok()) << document.status();
  auto tokenizer = Tokenizer::FromJson(Member(text, "tokenizer", "cases"));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  int cases = 0;
  for (const Json& one : *(*document)["cases"].array()) {
    const std::string& wanted = *one["text"].string();
    auto tokens = (*tokenizer)->Encode(wanted);
    ASSERT_TRUE(tokens.ok()) << tokens.status() << " of '" << wanted << "'";
    EXPECT_EQ(*tokens, Numbers(one["ids"])) << "'" << wanted << "'";
    EXPECT_EQ(Decode(*tokenizer, Numbers(one["ids"])), *one["decoded"].string());
    ++cases;
  }
  EXPECT_GT(cases, 100);
}

INSTANTIATE_TEST_SUITE_P(All, Tokenizers,
                         testing::Values("gpt2", "llama3", "llama2", "metaspace_first",
                                         "metaspace_always", "digits"));

constexpr char kSmall[] = R"({"added_tokens": [{"id": 3, "content": "<s>", "special": true,
  "normalized": false}], "normalizer": null, "pre_tokenizer": null, "post_processor": null,
  "decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2},
  "merges": ["a b"]}})";

TEST(Tokenizer, KnowsItsTokens) {
  auto tokenizer = Tokenizer::FromJson(kSmall);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  EXPECT_EQ((*tokenizer)->size(), 4);
  EXPECT_EQ((*tokenizer)->Find("<s>"), 3);
  EXPECT_EQ((*tokenizer)->Find("ab"), 2);
  EXPECT_EQ((*tokenizer)->Find("abc"), std::nullopt);
  EXPECT_THAT(*(*tokenizer)->Encode("a<s>abb"), ElementsAre(0, 3, 2, 1));
  EXPECT_EQ((*tokenizer)->Encode("a\xFF").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Decode(*tokenizer, {2, 3, 17, 0}), "aba");
}

TEST(Tokenizer, SaysWhatItLacks) {
  const std::vector<std::pair<std::pair<const char*, const char*>, const char*>> changes = {
      {{R"("type": "BPE")", R"("type": "Unigram")"}, "model is Unigram"},
      {{R"("type": "BPE")", R"("type": "WordPiece")"}, "model is WordPiece"},
      {{R"("type": "BPE",)", R"("type": "BPE", "end_of_word_suffix": "</w>",)"},
       "end_of_word_suffix"},
      {{R"("normalizer": null)", R"("normalizer": {"type": "Lowercase"})"}, "Lowercase"},
      {{R"("pre_tokenizer": null)", R"("pre_tokenizer": {"type": "BertPreTokenizer"})"},
       "BertPreTokenizer"},
      {{R"("pre_tokenizer": null)",
        R"("pre_tokenizer": {"type": "Split", "behavior": "Isolated", "pattern": {"Regex": "(?<=a)b"}})"},
       "lookaround"},
      {{R"("post_processor": null)", R"("post_processor": {"type": "BertProcessing"})"},
       "BertProcessing"},
      {{R"("type": "ByteLevel")", R"("type": "CTC")"}, "decoder CTC"}};
  for (const auto& [change, message] : changes) {
    const auto made =
        Tokenizer::FromJson(absl::StrReplaceAll(kSmall, {{change.first, change.second}}));
    EXPECT_EQ(made.status().code(), absl::StatusCode::kUnimplemented) << change.second;
    EXPECT_THAT(made.status().message(), HasSubstr(message));
  }
  for (const char* bad :
       {"", "{", "[]", "{}", R"({"model": 3})", R"({"model": {"vocab": {"a": -1}, "merges": []}})",
        R"({"model": {"vocab": {"a": 0}, "merges": ["a c"]}})"}) {
    EXPECT_EQ(Tokenizer::FromJson(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

// Each of the forty steps doubles the length of the text.
TEST(Tokenizer, RefusesToGrowATextWithoutBound) {
  struct Kind {
    const char* place;
    const char* sequence;
    const char* step;
  };
  for (const auto& [place, sequence, step] :
       {Kind{"normalizer", "normalizers",
             R"({"type": "Replace", "pattern": {"String": "a"}, "content": "aa"})"},
        Kind{"normalizer", "normalizers", R"({"type": "Prepend", "prepend": "PREFIX"})"},
        Kind{"pre_tokenizer", "pretokenizers",
             R"({"type": "Metaspace", "replacement": "  ", "split": false})"},
        Kind{"pre_tokenizer", "pretokenizers", R"({"type": "ByteLevel", "use_regex": false})"}}) {
    SCOPED_TRACE(step);
    // Adds a prefix of 100,000 characters forty times.
    const std::string one = absl::StrReplaceAll(step, {{"PREFIX", std::string(100'000, 'p')}});
    std::string steps = one;
    for (int i = 1; i < 40; ++i) absl::StrAppend(&steps, ", ", one);
    const auto tokenizer = Tokenizer::FromJson(
        absl::StrReplaceAll(kSmall, {{absl::StrCat("\"", place, "\": null"),
                                      absl::StrCat("\"", place, R"(": {"type": "Sequence", ")",
                                                   sequence, "\": [", steps, "]}")}}));
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
    const auto tokens = (*tokenizer)->Encode("a b \xC3\xA9");
    EXPECT_EQ(tokens.status().code(), absl::StatusCode::kOutOfRange);
    EXPECT_THAT(std::string(tokens.status().message()), HasSubstr("bytes from a text of"));
  }
}

TEST(TextStream, WaitsForTheRestOfACharacter) {
  auto tokenizer = Tokenizer::FromJson(
      R"({"decoder": {"type": "ByteFallback"}, "model": {"type": "BPE", "merges": [], "vocab":
      {"<0xF0>": 0, "<0x9F>": 1, "<0x99>": 2, "<0x82>": 3, "x": 4}}})");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  TextStream stream(*tokenizer, true);
  EXPECT_EQ(stream.Add(0), "");
  EXPECT_EQ(stream.Add(1), "");
  EXPECT_EQ(stream.Add(2), "");
  EXPECT_EQ(stream.Add(3), "\xF0\x9F\x99\x82");
  EXPECT_EQ(stream.Add(0), "");
  EXPECT_EQ(stream.Add(4), "\xEF\xBF\xBDx");
  EXPECT_EQ(stream.Add(0), "");
  EXPECT_EQ(stream.Add(1), "");
  EXPECT_EQ(stream.Finish(), "\xEF\xBF\xBD");
}

TEST(Json, TellsWhereItEnds) {
  EXPECT_EQ(*(*Json::Parse(R"({"a": "\u00e9\ud83d\ude42\n"})"))["a"].string(), "é🙂\n");
  EXPECT_THAT(Json::Parse("{\"a\":\n 1,}").status().message(), HasSubstr("line 2, column 4"));
  for (const char* bad : {"{\"a\" 1}", "[1 2]", "\"\\ud83d\"", "\"\\q\"", "nul", "1e", "\"a", "1 2",
                          "\"\xFF\"", "\"\n\"", "inf", "nan"}) {
    EXPECT_FALSE(Json::Parse(bad).ok()) << bad;
  }
  EXPECT_FALSE(Json::Parse(std::string(100000, '[')).ok());
}

}  // namespace
}  // namespace tartan::generate::tokenizer_test
