// SPDX-License-Identifier: Apache-2.0
// Operators of strings beyond the official cases.
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/run_operator.h"

namespace tartan::onnx::strings_test {
namespace {

using api::HostStrings;
using api::HostValue;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<HostValue> EvaluateAll(const OperatorCall& call) {
  const auto outputs = RunOperatorValues(call);
  if (outputs.ok()) return *outputs;
  ADD_FAILURE() << outputs.status();
  return std::vector<HostValue>(static_cast<size_t>(call.outputs), HostStrings({0}, {}));
}

std::string Words(const std::string& name, const std::vector<std::string>& words) {
  std::string text = "attribute { name: '" + name + "' type: STRINGS";
  for (const std::string& word : words) text += " strings: '" + word + "'";
  return text + " }";
}

TEST(RegexFullMatch, MatchesWholeStringsAndRefusesBadPatterns) {
  const HostValue words = HostStrings({2, 2}, {"aab", "b", "aabx", ""});
  EXPECT_THAT(EvaluateAll({"RegexFullMatch", 20, {words}, Attribute("pattern", "a*b")})[0]
                  .tensor()
                  .ToInts(),
              ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(Error({"RegexFullMatch", 20, {words}, Attribute("pattern", "a(")}),
              HasSubstr("attribute 'pattern': missing )"));
  EXPECT_THAT(Error({"RegexFullMatch", 20, {Values({1}, {1})}, Attribute("pattern", "a")}),
              HasSubstr("a tensor of strings is expected"));
}

TEST(RegexFullMatch, TakesNoTimeOverNestedRepetitions) {
  const HostValue words = HostStrings({1}, {absl::StrCat(std::string(5000, 'a'), "!")});
  EXPECT_THAT(EvaluateAll({"RegexFullMatch", 20, {words}, Attribute("pattern", "(a*)*(a*)*b")})[0]
                  .tensor()
                  .ToInts(),
              ElementsAre(0));
}

TEST(StringConcat, BroadcastsBothOperands) {
  const HostValue y = EvaluateAll(
      {"StringConcat", 20, {HostStrings({2, 1}, {"a", "b"}), HostStrings({3}, {"x", "", "z"})}})[0];
  EXPECT_THAT(y.tensor().shape().dims, ElementsAre(2, 3));
  EXPECT_THAT(api::StringsOf(y), ElementsAre("ax", "a", "az", "bx", "b", "bz"));
  EXPECT_NE(
      Error({"StringConcat", 20, {HostStrings({2}, {"a", "b"}), HostStrings({3}, {"", "", ""})}}),
      "");
}

TEST(StringSplit, FillsUpRowsAndCountsParts) {
  const auto outputs = EvaluateAll(
      {"StringSplit", 20, {HostStrings({2}, {"a,b,,c", ""})}, Attribute("delimiter", ","), 2});
  EXPECT_THAT(api::StringsOf(outputs[0]), ElementsAre("a", "b", "", "c", "", "", "", ""));
  EXPECT_THAT(outputs[1].tensor().ToInts(), ElementsAre(4, 1));
}

TEST(StringSplit, TakesWhiteSpaceTogetherAndKeepsTheRest) {
  const auto outputs = EvaluateAll({"StringSplit",
                                    20,
                                    {HostStrings({2}, {"  one two\t three", " "})},
                                    Attribute("maxsplit", int64_t{1}),
                                    2});
  EXPECT_THAT(api::StringsOf(outputs[0]), ElementsAre("one", "two\t three", "", ""));
  EXPECT_THAT(outputs[1].tensor().ToInts(), ElementsAre(2, 0));
}

TEST(StringNormalizer, DropsStopWordsAndChangesCase) {
  const HostValue x = HostStrings({3}, {"Monday", "tuesday", "STRASSE"});
  const std::string stop = Words("stopwords", {"MONDAY"});
  EXPECT_THAT(
      api::StringsOf(EvaluateAll(
          {"StringNormalizer", 10, {x}, stop + Attribute("case_change_action", "LOWER")})[0]),
      ElementsAre("tuesday", "strasse"));
  EXPECT_THAT(
      api::StringsOf(EvaluateAll(
          {"StringNormalizer", 10, {x}, stop + Attribute("is_case_sensitive", int64_t{1})})[0]),
      ElementsAre("Monday", "tuesday", "STRASSE"));
  EXPECT_THAT(Error({"StringNormalizer", 10, {HostStrings({2, 1}, {"a", "b"})}}),
              HasSubstr("expected [C] or [1, C]"));
}

TEST(StringNormalizer, KnowsTheCaseOfLettersBeyondAscii) {
  const HostValue x = HostStrings({2}, {"\xC3\xA9t\xC3\xA9", "\xFF"});  // "été", and invalid UTF-8
  EXPECT_THAT(api::StringsOf(EvaluateAll(
                  {"StringNormalizer", 10, {x}, Attribute("case_change_action", "UPPER")})[0]),
              ElementsAre("\xC3\x89T\xC3\x89", "\xFF"));
}

TEST(StringNormalizer, RefusesNumbers) {
  EXPECT_THAT(Error({"StringNormalizer", 10, {Values({1}, {1})}}),
              HasSubstr("a tensor of strings is expected"));
}

TEST(Equal, ComparesStringsOfDifferentLists) {
  EXPECT_THAT(EvaluateAll({"Equal", 19, {HostStrings({2}, {"b", "a"}), HostStrings({1}, {"a"})}})[0]
                  .tensor()
                  .ToInts(),
              ElementsAre(0, 1));
}

std::string Grams(const std::string& mode) {
  return Attribute("mode", mode) + Attribute("min_gram_length", int64_t{1}) +
         Attribute("max_gram_length", int64_t{2}) + Attribute("max_skip_count", int64_t{1}) +
         Attribute("ngram_counts", std::vector<int64_t>{0, 2}) +
         Attribute("ngram_indexes", std::vector<int64_t>{0, 1, 2}) +
         Words("pool_strings", {"a", "b", "a", "b"}) +
         "attribute { name: 'weights' type: FLOATS floats: 1 floats: 10 floats: 100 }";
}

TEST(TfIdfVectorizer, CountsGramsOfStringsWithSkips) {
  // Counts "a b" at distances one and two; "c" is not in the pool.
  const HostValue x = HostStrings({1, 5}, {"a", "b", "a", "c", "b"});
  EXPECT_THAT(EvaluateAll({"TfIdfVectorizer", 9, {x}, Grams("TF")})[0].tensor().ToDoubles(),
              ElementsAre(2, 2, 2));
  EXPECT_THAT(EvaluateAll({"TfIdfVectorizer", 9, {x}, Grams("IDF")})[0].tensor().ToDoubles(),
              ElementsAre(1, 10, 100));
  EXPECT_THAT(EvaluateAll({"TfIdfVectorizer", 9, {x}, Grams("TFIDF")})[0].tensor().ToDoubles(),
              ElementsAre(2, 20, 200));
  EXPECT_THAT(Error({"TfIdfVectorizer", 9, {x}, Grams("DF")}), HasSubstr("expected TF, IDF"));
  EXPECT_THAT(Error({"TfIdfVectorizer", 9, {Values({1}, {1})}, Grams("TF")}),
              HasSubstr("different kinds of tokens"));
}

// --- com.microsoft.Tokenizer, as onnxruntime 1.32 has it.

OperatorCall Tokenize(HostValue texts, const std::string& fields, int64_t mark = 0,
                      int64_t least_characters = 1) {
  return {"Tokenizer",
          13,
          {std::move(texts)},
          fields + Attribute("mark", mark) + Attribute("pad_value", "#") +
              Attribute("mincharnum", least_characters),
          1,
          "com.microsoft"};
}

std::vector<std::string> Tokens(const std::string& text, const std::string& fields,
                                int64_t mark = 0, int64_t least_characters = 1) {
  return api::StringsOf(
      EvaluateAll(Tokenize(HostStrings({1}, {text}), fields, mark, least_characters))[0]);
}

TEST(Tokenizer, FillsUpRowsOfWhatItMatches) {
  const HostValue y = EvaluateAll(Tokenize(HostStrings({2, 2}, {"ab cd", "e", "!", "g h i"}),
                                           Attribute("tokenexp", "[a-z]+")))[0];
  EXPECT_THAT(y.tensor().shape().dims, ElementsAre(2, 2, 3));
  EXPECT_THAT(api::StringsOf(y),
              ElementsAre("ab", "cd", "#", "e", "#", "#", "#", "#", "#", "g", "h", "i"));
  EXPECT_THAT(Tokens("ab abc", Attribute("tokenexp", "a|ab")), ElementsAre("ab", "ab"));
  EXPECT_THAT(Tokens("a1b22", Attribute("tokenexp", "[a-z]*")), ElementsAre("a", "b"));
  EXPECT_THAT(Tokens("foo bar", Attribute("tokenexp", "\\\\bb")), ElementsAre("b"));
}

TEST(Tokenizer, DropsSeparatorsOneAfterTheOther) {
  EXPECT_THAT(Tokens("a,b;c, d", Words("separators", {"[,;]", " "})),
              ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(Tokens("abXXcd", Words("separators", {"bX", "XX"})), ElementsAre("a", "Xcd"));
  EXPECT_THAT(Tokens("abXXcd", Words("separators", {"XX", "bX"})), ElementsAre("ab", "cd"));
  EXPECT_THAT(Tokens("a b", Words("separators", {" ", ""})), ElementsAre());
}

TEST(Tokenizer, CountsCharactersOfUtf8) {
  EXPECT_THAT(Tokens("h\u00e9\u65e5", Words("separators", {""})),
              ElementsAre("h", "\u00e9", "\u65e5"));
  EXPECT_THAT(Tokens("a\n\u65e5", Attribute("tokenexp", ".")), ElementsAre("a", "\n", "\u65e5"));
  EXPECT_THAT(Tokens("a\n\u65e5", Attribute("tokenexp", "(.)")), ElementsAre("a", "\u65e5"));
  EXPECT_THAT(Tokens("\u65e5\u672c x yz", Attribute("tokenexp", "[^ ]+"), 0, 2),
              ElementsAre("\u65e5\u672c", "yz"));
}

TEST(Tokenizer, MarksTheEndsOfTextsUnlessThereIsNoToken) {
  EXPECT_THAT(Tokens("ab", Attribute("tokenexp", "."), 1), ElementsAre("\x02", "a", "b", "\x03"));
  const HostValue none =
      EvaluateAll(Tokenize(HostStrings({2}, {"", "!"}), Attribute("tokenexp", "[a-z]"), 1))[0];
  EXPECT_THAT(none.tensor().shape().dims, ElementsAre(2, 0));
  const HostValue empty =
      EvaluateAll(Tokenize(HostStrings({2, 0}, {}), Attribute("tokenexp", ".")))[0];
  EXPECT_THAT(empty.tensor().shape().dims, ElementsAre(2, 0));
}

TEST(Tokenizer, SaysWhatIsWrong) {
  const HostValue text = HostStrings({1}, {"a"});
  EXPECT_THAT(Error(Tokenize(text, Attribute("tokenexp", "("))),
              HasSubstr("attribute 'tokenexp': missing )"));
  EXPECT_THAT(Error(Tokenize(text, Words("separators", {""}), 0, 2)),
              HasSubstr("'mincharnum' is 2 where tokens are single characters"));
  EXPECT_THAT(Error(Tokenize(text, Attribute("tokenexp", "."), 0, 0)),
              HasSubstr("attribute 'mincharnum' is 0"));
  EXPECT_THAT(Error(Tokenize(HostStrings({1, 1, 1}, {"a"}), Attribute("tokenexp", "."))),
              HasSubstr("expected [C] or [N, C]"));
  EXPECT_THAT(Error(Tokenize(Values({1}, {1}), Attribute("tokenexp", "."))),
              HasSubstr("a tensor of strings is expected"));
}

}  // namespace
}  // namespace tartan::onnx::strings_test
