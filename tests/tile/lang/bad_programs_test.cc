// SPDX-License-Identifier: Apache-2.0
// Every file of tests/tile/lang/bad must be refused with the message its first line expects. A
// file with a "// shapes:" line parses and fails to bind; one without fails to parse.
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tile/lang/tile_text.h"
#include "tile/lang/binder.h"
#include "tile/lang/parser.h"

namespace tartan::lang {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> Files() { return TileFiles("tests/tile/lang/bad"); }

std::string FileName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Returns the lines that begin with the file's name; the others quote the text.
std::string MessageLines(absl::string_view message, const std::string& file) {
  std::string result;
  for (const absl::string_view line : absl::StrSplit(message, '\n')) {
    if (absl::StartsWith(line, file)) result += std::string(line) + "\n";
  }
  return result;
}

class BadProgram : public ::testing::TestWithParam<std::string> {};

TEST_P(BadProgram, IsRefusedWithTheMessageItsFirstLineExpects) {
  const std::string text = ReadFile(GetParam());
  const std::string file = FileName(GetParam());
  const std::string expected = Header(text, "expect");
  ASSERT_NE(expected, "");
  const bool parses = absl::StrContains(text, "// shapes:");
  EXPECT_EQ(Parse(text, file).ok(), parses);
  absl::Status status = ParseAndBind(text, HeaderShapes(text), file).status();
  if (status.ok()) {
    status = CheckConstraints(*Parse(text, file), HeaderShapes(text), {file, text, {}});
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  const std::string message(status.message());
  EXPECT_THAT(MessageLines(message, file), HasSubstr(expected));
  if (Header(text, "place") == "none") return;
  const std::vector<std::string> lines = absl::StrSplit(message, '\n');
  ASSERT_GE(lines.size(), 3);
  EXPECT_THAT(lines[0], ::testing::ContainsRegex(":[0-9]+:[0-9]+: "));
  absl::string_view quoted = lines[1];
  ASSERT_TRUE(absl::ConsumePrefix(&quoted, "    "));
  EXPECT_TRUE(absl::StrContains(text, quoted)) << message;
  EXPECT_EQ(lines[2].find_first_not_of(" \t"), lines[2].size() - 1);
  EXPECT_EQ(lines[2].back(), '^');
}

INSTANTIATE_TEST_SUITE_P(Files, BadProgram, ::testing::ValuesIn(Files()), [](const auto& info) {
  std::string name = FileName(info.param);
  return name.substr(0, name.size() - 5);
});

TEST(BadPrograms, AreManyAndDifferent) { EXPECT_GE(Files().size(), 100); }

}  // namespace
}  // namespace tartan::lang
