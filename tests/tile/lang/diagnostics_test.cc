// SPDX-License-Identifier: Apache-2.0
#include "tile/lang/diagnostics.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tartan::lang {
namespace {

using ::testing::HasSubstr;

TEST(Diagnostics, ShowsPlaceMessageLineAndCaret) {
  EXPECT_EQ(FormatDiagnostic({"f.tile", "one\ntwo words\nthree"}, {2, 5}, "wrong"),
            "f.tile:2:5: wrong\n    two words\n        ^");
}

TEST(Diagnostics, LeavesOutTheLineWithoutText) {
  EXPECT_EQ(FormatDiagnostic({"f.tile", ""}, {2, 5}, "wrong"), "f.tile:2:5: wrong");
}

TEST(Diagnostics, LeavesOutThePlaceOfAHandMadeTree) {
  EXPECT_EQ(FormatDiagnostic({"f.tile", "text"}, {}, "wrong"), "f.tile: wrong");
}

TEST(Diagnostics, CountsAUtf8CharacterAsOneColumnOfTheCaret) {
  EXPECT_THAT(FormatDiagnostic({"f", "/*ü*/ A"}, {1, 8}, "m"), HasSubstr("\n          ^"));
}

TEST(Diagnostics, CutsLongLinesAroundTheCaret) {
  const std::string line = absl::StrCat(std::string(1000, 'a'), "X", std::string(1000, 'b'));
  const std::string message = FormatDiagnostic({"f", line}, {1, 1001}, "m");
  EXPECT_LT(message.size(), 400);
  EXPECT_THAT(message, HasSubstr("aXb"));
  const size_t caret = message.rfind('^') - message.rfind('\n');
  const size_t marked = message.find('X') - message.find('\n');
  EXPECT_EQ(caret, marked);
}

TEST(Diagnostics, StaysInsideShortTexts) {
  EXPECT_EQ(FormatDiagnostic({"f", "ab"}, {1, 99}, "m"), "f:1:99: m\n    ab\n      ^");
  EXPECT_EQ(FormatDiagnostic({"f", "ab"}, {7, 1}, "m"), "f:7:1: m\n    \n    ^");
}

TEST(NearestName, FindsASlipOfTheFinger) {
  EXPECT_EQ(NearestName("sqr", {"exp", "sqrt", "sin"}), "sqrt");
  EXPECT_EQ(NearestName("Wieghts", {"Weights", "Wide"}), "Weights");
}

TEST(NearestName, SuggestsNothingFarAway) {
  EXPECT_EQ(NearestName("frobnicate", {"exp", "sqrt"}), "");
  EXPECT_EQ(NearestName("A", {"B", "C"}), "");
}

}  // namespace
}  // namespace tartan::lang
