// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/context/build_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tartan::opencl {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kSource[] =
    "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven\ntwelve";

TEST(ExplainBuildLog, LeavesALogWithoutLineNumbersAlone) {
  EXPECT_EQ(ExplainBuildLog("error: out of luck, code 12\n", kSource),
            "error: out of luck, code 12");
}

TEST(ExplainBuildLog, ShowsTheLineAClangLikeLogSpeaksOf) {
  EXPECT_EQ(ExplainBuildLog("<kernel>:4:7: error: bad", kSource),
            "<kernel>:4:7: error: bad\n3: three\n4: four\n5: five");
}

TEST(ExplainBuildLog, ShowsTheLineALogNamesByWord) {
  EXPECT_THAT(ExplainBuildLog("ptxas, line 12; error: bad", kSource),
              HasSubstr("\n11: eleven\n12: twelve"));
}

TEST(ExplainBuildLog, IgnoresLinesThatAreNotThere) {
  EXPECT_EQ(ExplainBuildLog("a:4000:1: error", kSource), "a:4000:1: error");
  EXPECT_EQ(ExplainBuildLog("a:99999999999999999999:1: error", kSource),
            "a:99999999999999999999:1: error");
}

TEST(ExplainBuildLog, CutsALongLogAndSaysSo) {
  const std::string text = ExplainBuildLog(std::string(100'000, 'x'), kSource);
  EXPECT_LT(text.size(), 5'000u);
  EXPECT_THAT(text, HasSubstr("95904 more bytes"));
}

}  // namespace
}  // namespace tartan::opencl
