// SPDX-License-Identifier: Apache-2.0
// Tests of the option --tier.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/report.pb.h"
#include "tests/backend_opencl/temporary_directory.h"
#include "tests/frontend/cli/run_program.h"

namespace tartan::cli {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class TierOption : public testing::Test {
 protected:
  // Runs the digits example with a separate cache.
  ProgramResult RunDigits(const std::string& command, std::vector<std::string> more) const {
    more.insert(more.begin(), {command, SourcePath("examples/digits/digits.onnx")});
    ProgramOptions own;
    own.environment = {"TARTAN_CACHE_DIR=" + cache_.path()};
    return RunTartan(std::move(more), own);
  }

  template <class Report>
  Report ReportOf(const std::string& command, std::vector<std::string> more) const {
    more.insert(more.end(), {"--format", "json", "--quiet"});
    const ProgramResult result = RunDigits(command, std::move(more));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    Report report;
    const auto status = google::protobuf::util::JsonStringToMessage(result.out, &report);
    EXPECT_TRUE(status.ok()) << result.out;
    return report;
  }

  proto::RunReport RunReport(std::vector<std::string> more = {},
                             const std::string& shape = "x=1x1x28x28") const {
    more.insert(more.begin(), {"--random", "--shape", shape});
    return ReportOf<proto::RunReport>("run", std::move(more));
  }

  const TemporaryDirectory cache_;
};

TEST_F(TierOption, RunTakesReadyKernelsWhereThereAreNoExactOnes) {
  for (int process = 0; process < 2; ++process) {
    const proto::RunReport ready = RunReport({}, "x=900x1x28x28");
    EXPECT_EQ(ready.tier(), "ready");
    EXPECT_EQ(ready.tiers().ready(), 1);
    EXPECT_EQ(ready.tiers().exact(), 0);
  }
}

TEST_F(TierOption, RunTakesExactKernelsThatAreThereElseTheHostForWhatIsLittleWork) {
  for (int process = 0; process < 2; ++process) {
    const proto::RunReport host = RunReport();
    EXPECT_EQ(host.tier(), "host");
    EXPECT_EQ(host.tiers().host(), 1);
    EXPECT_EQ(host.tiers().ready() + host.tiers().exact(), 0);
    EXPECT_EQ(host.kernels(), 0);
  }
  const proto::RunReport exact = RunReport({"--tier", "exact"});
  EXPECT_EQ(exact.tier(), "exact");
  EXPECT_EQ(exact.tiers().exact(), 1);
  const proto::RunReport found = RunReport();
  EXPECT_EQ(found.tier(), "exact");
  EXPECT_EQ(found.cache().misses(), 0);
  EXPECT_EQ(RunReport({"--tier", "ready"}).tier(), "ready");
  EXPECT_THAT(RunDigits("run", {"--random", "--tier", "ready"}).out,
              ContainsRegex("latency .* [0-9]+ ready kernels"));
}

TEST_F(TierOption, BenchMeasuresExactKernelsWhereverInputsAre) {
  std::vector<std::string> arguments = {"--no-cache", "--shape", "x=3x1x28x28", "--count", "2"};
  const auto expect = [&](const std::string& tier) {
    const auto bench = ReportOf<proto::BenchReport>("bench", arguments);
    EXPECT_EQ(bench.tier(), tier) << testing::PrintToString(arguments);
    EXPECT_NE(bench.first_tier(), "exact");
    EXPECT_EQ(bench.exact_ms() > 0, tier == "exact");
  };
  expect("exact");
  arguments.push_back("--on-device");
  expect("exact");
  arguments.insert(arguments.end(), {"--tier", "ready"});
  expect("ready");
}

TEST_F(TierOption, RunCountsAllThatAFirstAnswerWaitsFor) {
  const proto::RunReport cold = RunReport({"--tier", "ready"});
  EXPECT_GE(cold.first_answer_ms(), cold.load_ms() + cold.bind_ms() + cold.compile_ms() +
                                        cold.setup_ms() + cold.first_ms());
  EXPECT_GT(cold.compile_ms(), cold.first_ms());
}

TEST_F(TierOption, BenchAnswersAtOnceAndMeasuresExactKernels) {
  const auto report = ReportOf<proto::BenchReport>("bench", {"--count", "2"});
  EXPECT_EQ(report.first_tier(), "host");
  EXPECT_EQ(report.tier(), "exact");
  EXPECT_GT(report.exact_ms(), 0);
  const auto again = ReportOf<proto::BenchReport>("bench", {"--count", "2"});
  EXPECT_EQ(again.first_tier(), "exact");
  EXPECT_EQ(again.exact_ms(), 0);
  EXPECT_EQ(again.kernels(), report.kernels());
  const auto ready = ReportOf<proto::BenchReport>("bench", {"--count", "2", "--tier", "ready"});
  EXPECT_EQ(ready.tier(), "ready");
  EXPECT_THAT(RunDigits("bench", {"--count", "2"}).out, ContainsRegex("kernels +[0-9]+ exact"));
  EXPECT_THAT(RunDigits("bench", {"--count", "2", "--shape", "x=3x1x28x28"}).out,
              AllOf(HasSubstr("exact kernels"), HasSubstr("later")));
}

TEST_F(TierOption, TuneIsForExactKernels) {
  const auto report = ReportOf<proto::TuneReport>("tune", {"--top", "1", "--count", "1"});
  EXPECT_EQ(report.tier(), "exact");
  EXPECT_THAT(RunDigits("tune", {"--top", "1", "--count", "1"}).out, HasSubstr("exact kernels"));
  const ProgramResult refused = RunDigits("tune", {"--tier", "ready"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--tier ready"));
}

TEST_F(TierOption, HasThreeValues) {
  const ProgramResult result = RunDigits("run", {"--random", "--tier", "fast"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("fast"), HasSubstr("--tier")));
}

}  // namespace
}  // namespace tartan::cli
