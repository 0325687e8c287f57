// SPDX-License-Identifier: Apache-2.0
// Tests of --device with several devices. The first device serves as both.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/report.pb.h"
#include "tests/frontend/cli/run_program.h"

namespace tartan::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Digits() { return SourcePath("examples/digits/digits.onnx"); }

template <class Report>
Report ReportOf(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--format", "json"});
  const ProgramResult result = RunTartan(std::move(arguments));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  Report report;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(result.out, &report).ok()) << result.out;
  return report;
}

proto::RunReport RunOn(const std::string& devices) {
  return ReportOf<proto::RunReport>({"run", Digits(), "--random", "--shape", "x=5x1x28x28",
                                     "--tier", "ready", "--device", devices});
}

TEST(SeveralDevices, RunGivesTheOutputsOfOne) {
  const proto::RunReport one = RunOn("0");
  const proto::RunReport two = RunOn("0,0");
  ASSERT_EQ(two.outputs_size(), 1);
  EXPECT_EQ(two.outputs(0).DebugString(), one.outputs(0).DebugString());
  EXPECT_EQ(two.outputs(0).shape(0), 5);
  EXPECT_EQ(two.kernels(), 2 * one.kernels());
  EXPECT_EQ(two.device(), "2 x " + one.device());
}

TEST(SeveralDevices, BenchComparesAllWithOne) {
  const auto report = ReportOf<proto::BenchReport>(
      {"bench", Digits(), "--device", "0,0", "--batch", "4", "--count", "3"});
  EXPECT_EQ(report.devices(), 2);
  EXPECT_EQ(report.tier(), "exact");
  EXPECT_GT(report.throughput(), 0);
  EXPECT_GT(report.one_device_throughput(), 0);
  EXPECT_GT(report.one_device_median_ms(), 0);
  const auto one = ReportOf<proto::BenchReport>({"bench", Digits(), "--count", "3"});
  EXPECT_EQ(one.devices(), 1);
  EXPECT_EQ(one.one_device_throughput(), 0);
}

TEST(SeveralDevices, ABatchOfFewerRowsIsNoted) {
  const auto result = RunTartan({"run", Digits(), "--random", "--device", "0,0"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("1 of 2 devices used"));
  EXPECT_THAT(
      RunTartan({"run", Digits(), "--random", "--shape", "x=2x1x28x28", "--device", "0,0"}).err,
      Not(HasSubstr("devices used")));
}

TEST(SeveralDevices, OptionsAndCommandsThatTakeOneSaySo) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"inspect", Digits()},
           {"bench", Digits(), "--profile"},
           {"bench", Digits(), "--check-cost"},
           {"bench", Digits(), "--on-device"},
           {"run", Digits(), "--random", "--state", "scores=x"}}) {
    std::vector<std::string> with_devices = arguments;
    with_devices.insert(with_devices.end(), {"--device", "0,0"});
    const auto result = RunTartan(std::move(with_devices));
    EXPECT_EQ(result.exit_code, 2) << ::testing::PrintToString(arguments) << result.err;
    EXPECT_THAT(result.err, AllOf(HasSubstr("tartan: "), HasSubstr("one")));
  }
}

TEST(SeveralDevices, ListsWithUnknownOrEmptyEntriesAreRefused) {
  const auto unknown = RunTartan({"run", Digits(), "--random", "--device", "0,abacus"});
  EXPECT_EQ(unknown.exit_code, 4) << unknown.err;
  EXPECT_THAT(unknown.err, HasSubstr("no device matches 'abacus'"));
  const auto empty = RunTartan({"run", Digits(), "--random", "--device", "0,"});
  EXPECT_EQ(empty.exit_code, 2) << empty.err;
  EXPECT_THAT(empty.err, HasSubstr("has an empty entry"));
}

}  // namespace
}  // namespace tartan::cli
