// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace tartan::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

TEST(ParseInteger, TakesDigitsWithinTheBounds) {
  EXPECT_EQ(*ParseInteger("0", 0, 9), 0);
  EXPECT_EQ(*ParseInteger("9", 0, 9), 9);
  EXPECT_EQ(*ParseInteger("010", 0, 99), 10);
  EXPECT_EQ(*ParseInteger("-9223372036854775808", kLeast, kMost), kLeast);
  EXPECT_EQ(*ParseInteger("9223372036854775807", kLeast, kMost), kMost);
}

TEST(ParseInteger, RefusesAllElse) {
  for (const char* text : {"", "-", "+1", " 1", "1 ", "1x", "0x1", "1.0", "1e3", "nan", "inf",
                           "9223372036854775808", "99999999999999999999", "1,2"}) {
    EXPECT_FALSE(ParseInteger(text, kLeast, kMost).ok()) << text;
  }
  EXPECT_EQ(std::string(ParseInteger("10", 1, 9).status().message()),
            "'10' is not a whole number from 1 to 9");
  EXPECT_FALSE(ParseInteger("-1", 0, 9).ok());
}

TEST(ParseBytes, TakesUnitsOfPowersOfTwo) {
  EXPECT_EQ(*ParseBytes("1"), 1);
  EXPECT_EQ(*ParseBytes("123456789"), 123456789);
  EXPECT_EQ(*ParseBytes("3K"), 3 << 10);
  EXPECT_EQ(*ParseBytes("512M"), 512 << 20);
  EXPECT_EQ(*ParseBytes("2G"), int64_t{2} << 30);
  EXPECT_EQ(*ParseBytes("8388607T"), int64_t{8388607} << 40);
}

TEST(ParseBytes, RefusesAllElse) {
  for (const char* text : {"", "0", "0K", "M", "-1", "1.5G", "1k", "1KB", "1 K", "2GiB", "8388608T",
                           "9223372036854775808", "many"}) {
    EXPECT_FALSE(ParseBytes(text).ok()) << text;
  }
  EXPECT_EQ(std::string(ParseBytes("1.5G").status().message()),
            "'1.5G' is not a number of bytes, such as 1000000, 512M or 2G");
}

TEST(ParseDouble, TakesFiniteNumbersWithinTheBounds) {
  EXPECT_EQ(*ParseDouble("0.5", 0, 1), 0.5);
  EXPECT_EQ(*ParseDouble("1e-3", 0, 1), 1e-3);
  EXPECT_EQ(*ParseDouble("1", 0, 1), 1);
}

TEST(ParseDouble, RefusesAllElse) {
  for (const char* text : {"", "nan", "NaN", "-nan", "inf", "-inf", "1e999", "-1e999", "1.5x",
                           "1.5 ", " 1.5", "1,5"}) {
    EXPECT_FALSE(ParseDouble(text, -1e300, 1e300).ok()) << text;
  }
  EXPECT_THAT(std::string(ParseDouble("nan", 0, 5).status().message()),
              HasSubstr("'nan' is not a number from 0 to 5"));
  EXPECT_FALSE(ParseDouble("-0.1", 0, 5).ok());
}

TEST(SplitList, RefusesEmptyParts) {
  EXPECT_THAT(*SplitList("1,8,32"), ElementsAre("1", "8", "32"));
  for (const char* text : {"", ",", "1,,2", "1,", ",1"}) {
    EXPECT_FALSE(SplitList(text).ok()) << text;
  }
}

}  // namespace
}  // namespace tartan::cli
