// SPDX-License-Identifier: Apache-2.0
// Tests of outputs that are maps: printing and reports.
#include "frontend/cli/output_values.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tartan::cli {
namespace {

using api::HostValue;
using ::testing::ElementsAre;

HostTensor Scores(std::vector<int64_t> dims) {
  return HostTensor::FromVector({DataType::kFloat32, std::move(dims)},
                                std::vector<float>{0.25f, 0.75f, 1.0f, 0.0f});
}

const std::vector<std::string> kNames = {"no", "yes"};

TEST(OutputFiles, AreAsManyAsAreAskedFor) {
  const auto files = ParseOutputFiles({"y=a.npy", "y=@b.pb", "z=c=d.npy"}, {"y", "z", "z=c"});
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_EQ(files->size(), 3);
  EXPECT_EQ((*files)[0].output, 0);
  EXPECT_EQ((*files)[1].path, "b.pb");
  EXPECT_EQ((*files)[1].output, 0);
  EXPECT_EQ((*files)[2].output, 2);
  EXPECT_EQ((*files)[2].path, "d.npy");
}

TEST(OutputFiles, AreNotWrittenTwice) {
  for (const char* second : {"a.npy", "./a.npy", "x/../a.npy"}) {
    const auto files = ParseOutputFiles({"y=a.npy", std::string("z=") + second}, {"y", "z"});
    EXPECT_EQ(files.status().code(), absl::StatusCode::kInvalidArgument) << second;
  }
}

TEST(Strings, AreShownWithoutControlCharacters) {
  EXPECT_EQ(ValueText(api::HostStrings({1}, std::vector<std::string>{"a\x1b[2J\nb"})),
            "  \"a\\x1b[2J\\nb\"\n");
}

TEST(Maps, AreShownOneToALine) {
  const HostValue maps = HostValue::Map(api::HostStrings({2}, kNames), HostValue(Scores({2, 2})));
  EXPECT_EQ(ValueText(maps), "  no: 0.25 yes: 0.75\n  no: 1 yes: 0\n");
  const HostValue one = HostValue::Map(
      HostTensor::FromVector({DataType::kInt64, {4}}, std::vector<int64_t>{7, -1, 0, 3}),
      HostValue(Scores({4})));
  EXPECT_EQ(ValueText(one), "  7: 0.25 -1: 0.75 0: 1 3: 0\n");
}

TEST(Maps, AreReportedAsRowsUnderTheirKeys) {
  proto::RunReport::Output output;
  FillOutput("p", HostValue::Map(api::HostStrings({2}, kNames), HostValue(Scores({2, 2}))),
             &output);
  EXPECT_EQ(output.name(), "p");
  EXPECT_EQ(output.type(), "map");
  EXPECT_THAT(output.shape(), ElementsAre(2, 2));
  EXPECT_THAT(output.keys(), ElementsAre("no", "yes"));
  EXPECT_THAT(output.data(), ElementsAre(0.25, 0.75, 1, 0));
}

}  // namespace
}  // namespace tartan::cli
