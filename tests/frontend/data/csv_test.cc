// SPDX-License-Identifier: Apache-2.0
#include "frontend/data/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>

namespace tartan::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Table {
  std::vector<double> x;
  std::vector<double> y;
  DataType label_type = DataType::kInvalid;
};

Table Read(const std::string& text, const CsvOptions& options = {}) {
  const auto columns = ParseCsv(text, options);
  EXPECT_TRUE(columns.ok()) << columns.status();
  if (!columns.ok()) return {};
  EXPECT_EQ((*columns)[0].name, "x");
  EXPECT_EQ((*columns)[1].name, "y");
  EXPECT_EQ((*columns)[0].tensor.type(), DataType::kFloat32);
  EXPECT_EQ((*columns)[0].tensor.shape().dims[0], (*columns)[1].tensor.shape().dims[0]);
  return {(*columns)[0].tensor.ToDoubles(), (*columns)[1].tensor.ToDoubles(),
          (*columns)[1].tensor.type()};
}

std::string MessageOf(const std::string& text, const CsvOptions& options = {}) {
  return std::string(ParseCsv(text, options).status().message());
}

TEST(Csv, TakesTheLastColumnAsLabels) {
  const Table table = Read("1,2.5,0\n-3,4e1,2\n");
  EXPECT_THAT(table.x, ElementsAre(1, 2.5, -3, 40));
  EXPECT_THAT(table.y, ElementsAre(0, 2));
  EXPECT_EQ(table.label_type, DataType::kInt64);
}

TEST(Csv, TakesTheLabelsByName) {
  const Table table = Read("a,kind,b\n1,7,2\n3,8,4", {.label = "kind"});
  EXPECT_THAT(table.x, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(table.y, ElementsAre(7, 8));
  EXPECT_THAT(MessageOf("a,kind,b\n1,7,2\n", {.label = "y"}),
              HasSubstr("has no column \"y\", but \"a\", \"kind\", \"b\""));
  EXPECT_THAT(MessageOf("1,7,2\n", {.label = "y"}), HasSubstr("has no line of column names"));
}

TEST(Csv, GivesFloatLabelsWhereOneIsNoInteger) {
  const Table table = Read("1,2\n1,2.5\n");
  EXPECT_THAT(table.y, ElementsAre(2, 2.5));
  EXPECT_EQ(table.label_type, DataType::kFloat32);
}

TEST(Csv, ReadsWhatSpreadsheetsWrite) {
  const Table table = Read(
      "\xef\xbb\xbf\"a, \"\"first\"\"\",\"b\nc\"\r\n\r\n\"1\", 2 \r\n  \r\n +3 ,\"4\"\t\r\n\r\n",
      {.label = "a, \"first\""});
  EXPECT_THAT(table.x, ElementsAre(2, 4));
  EXPECT_THAT(table.y, ElementsAre(1, 3));
  EXPECT_THAT(Read("1,2\r3,4\r").x, ElementsAre(1, 3));
}

TEST(Csv, NamesLineAndColumnOfWhatIsNoNumber) {
  EXPECT_EQ(MessageOf("a,b\n1,2\n3,four\n"), "line 3, column 2: \"four\" is not a number");
  EXPECT_EQ(MessageOf("\n\n1,2\n\n1,2;3\n"), "line 5, column 2: \"2;3\" is not a number");
  EXPECT_EQ(MessageOf("\"a\nb\",c\n1,2\n3,x\n"), "line 4, column 2: \"x\" is not a number");
  EXPECT_EQ(MessageOf("1,2\n,3\n"), "line 2, column 1: is empty");
  EXPECT_EQ(MessageOf("1,2\n3,\n"), "line 2, column 2: is empty");
  EXPECT_EQ(MessageOf("1,2\nnan,3\n"),
            "line 2, column 1: \"nan\" is not a finite value of float32");
  EXPECT_EQ(MessageOf("1,2\n1e39,3\n"),
            "line 2, column 1: \"1e39\" is not a finite value of float32");
  EXPECT_THAT(MessageOf("1,2\n3," + std::string(1000, 'z')), HasSubstr("zzz…\" is not a number"));
}

TEST(Csv, TakesMissingValuesWhereAllowed) {
  const Table table = Read("1,2\n,inf\nnan,0\n", {.allow_missing = true});
  EXPECT_TRUE(std::isnan(table.x[1]));
  EXPECT_TRUE(std::isnan(table.x[2]));
  EXPECT_TRUE(std::isinf(table.y[1]));
  EXPECT_EQ(table.label_type, DataType::kFloat32);
}

TEST(Csv, TellsNamesFromValues) {
  EXPECT_THAT(Read("0,1\n2,3\n").x, ElementsAre(0, 2));
  EXPECT_THAT(Read("0,1\n2,3\n", {.has_header = true}).x, ElementsAre(2));
  EXPECT_THAT(Read(",a\n2,3\n").x, ElementsAre(2));
  EXPECT_EQ(MessageOf("1,2,o\n3,4,5\n"),
            "line 1, column 3: \"o\" is not a number, but \"1\" in column 1 is a number: the line "
            "has neither column names nor values only");
  EXPECT_EQ(MessageOf("a,b\n1,2\n", {.has_header = false}),
            "line 1, column 1: \"a\" is not a number");
  EXPECT_THAT(Read("0,1,kind\n2,3,4\n", {.label = "1", .has_header = true}).y, ElementsAre(3));
}

TEST(Csv, RefusesWhatIsNoTable) {
  EXPECT_EQ(MessageOf(""), "has no examples");
  EXPECT_EQ(MessageOf(" \r\n\n  "), "has no examples");
  EXPECT_EQ(MessageOf("1\n2\n"), "line 1: 1 cell; expected at least one feature and a label");
  EXPECT_EQ(MessageOf("1,2,3\n\n1,2\n"), "line 3 has 2 cells, but line 1 has 3");
  EXPECT_EQ(MessageOf("1,\"2\n3,4\n"), "line 1, column 2: its quotation mark is not closed");
  EXPECT_EQ(MessageOf("1,\"2\"3\n"), "line 1, column 2: text follows its closing quotation mark");
}

TEST(Csv, RoundsNumbersOfAnyFormCorrectly) {
  for (const char* cell :
       {"0.1", "-0.1", "0.30000000000001", "99999999999999", ".5", "-.25", "7.", "1e-3", "123456.7",
        "0.000000000000001", "3.14159265358979323846", "-0", "00012.50", "1E5", "8.5e+2"}) {
    const Table table = Read(std::string("1,") + cell + ",0.5", {.has_header = false});
    EXPECT_EQ(table.x[1], static_cast<float>(std::strtod(cell, nullptr))) << cell;
  }
  for (const char* cell : {".", "-", "-.", "1.2.3", "--1", "1-", "0x"}) {
    EXPECT_THAT(MessageOf(std::string("1,") + cell + ",2", {.has_header = false}),
                HasSubstr("is not a number"))
        << cell;
  }
}

TEST(Csv, SurvivesDamageAnywhere) {
  const std::string whole = "a,\"b \"\" c\",d\r\n1,\"2\",3\r\n4e-3, 5 ,nan\r\n\r\n7,,9";
  std::mt19937 random(5);
  SCOPED_TRACE("seed 5");
  constexpr char kPieces[] = "\",\r\n 01e.-+\0\xff";
  for (int i = 0; i < 50000; ++i) {
    std::string damaged = whole.substr(0, random() % (whole.size() + 1));
    for (int n = 0; n < 3 && !damaged.empty(); ++n) {
      damaged[random() % damaged.size()] = kPieces[random() % sizeof(kPieces)];
    }
    const auto columns = ParseCsv(damaged, {.allow_missing = random() % 2 == 0});
    if (!columns.ok()) continue;
    EXPECT_EQ((*columns)[0].tensor.shape().dims[0], (*columns)[1].tensor.element_count());
  }
}

}  // namespace
}  // namespace tartan::data
