// SPDX-License-Identifier: Apache-2.0
// Tests of `tartan plan-cluster` through the command line.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/report.pb.h"
#include "tests/frontend/cli/run_program.h"

namespace tartan::cli {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> PlanOf(std::vector<std::string> more) {
  std::vector<std::string> arguments = {
      "plan-cluster", SourcePath("examples/digits/digits.onnx"), "--batch", "8", "--time", "0.1"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

proto::ClusterPlanReport ReportOf(std::vector<std::string> more) {
  more.insert(more.end(), {"--format", "json"});
  const ProgramResult result = RunTartan(PlanOf(std::move(more)));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  proto::ClusterPlanReport report;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(result.out, &report).ok()) << result.out;
  return report;
}

TEST(PlanCluster, PredictsEveryForm) {
  const proto::ClusterPlanReport report = ReportOf({"--devices", "16", "--link", "400Gb", "--mtbf",
                                                    "1h", "--restart", "10s", "--memory", "80G"});
  EXPECT_EQ(report.devices(), 16);
  EXPECT_EQ(report.batch(), 8);
  EXPECT_EQ(report.parameters(), 78906);
  EXPECT_DOUBLE_EQ(report.gradient_bytes(), 4 * 78906);
  EXPECT_GT(report.forward_ms(), 0);
  EXPECT_GT(report.backward_ms(), report.forward_ms() / 4);
  EXPECT_GT(report.update_ms(), 0);
  EXPECT_NEAR(report.forward_ms() + report.backward_ms() + report.update_ms() + report.host_ms(),
              report.step_ms(), 1e-9);
  ASSERT_EQ(report.forms_size(), 11) << "4 data-parallel, tensor 2 to 8, pipeline 2 to 16";
  double memory = 1e18;
  for (int f = 0; f < 4; ++f) {
    const auto& form = report.forms(f);
    EXPECT_TRUE(form.implemented());
    EXPECT_TRUE(form.fits());
    EXPECT_GE(form.step_ms(), form.compute_ms());
    EXPECT_GT(form.communication_ms(), 0);
    EXPECT_NEAR(form.throughput(), 16 * 8 * 1000 / form.step_ms(), 1e-6 * form.throughput());
    EXPECT_LE(form.memory_bytes(), memory + 2 * report.gradient_bytes()) << "buckets at most";
    memory = form.memory_bytes();
  }
  EXPECT_FALSE(report.forms(4).implemented());
  EXPECT_EQ(report.simulation().ranks(), 16);
  EXPECT_GT(report.simulation().slowdown(), 1);
  EXPECT_GT(report.failures().failures(), 0);
  EXPECT_NEAR(report.failures().simulated_goodput(), report.failures().expected_goodput(), 0.05);
}

TEST(PlanCluster, OneDeviceTakesTheMeasuredStep) {
  const proto::ClusterPlanReport report =
      ReportOf({"--devices", "1", "--link", "400Gb", "--jitter", "0", "--optimizer", "sgd"});
  ASSERT_GE(report.forms_size(), 1);
  EXPECT_NEAR(report.forms(0).step_ms(), report.step_ms(), 1e-9);
  EXPECT_NEAR(report.forms(0).efficiency(), 1, 1e-9);
  EXPECT_NEAR(report.simulation().mean_ms(), report.step_ms(), 1e-6);
  EXPECT_FALSE(report.has_failures());
}

TEST(PlanCluster, MarksFormsThatDoNotFit) {
  const auto result =
      RunTartan(PlanOf({"--devices", "8", "--link", "25Gb:20us", "--memory", "300K"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("does not fit"));
  EXPECT_THAT(result.out, HasSubstr("estimate: not implemented"));
}

TEST(PlanCluster, RefusesTextsThatAreNoLinksTimesOrLosses) {
  const auto error = [](std::vector<std::string> more) {
    const auto result = RunTartan(PlanOf(std::move(more)));
    EXPECT_EQ(result.exit_code, 2) << result.err;
    return result.err;
  };
  EXPECT_THAT(error({"--devices", "8", "--link", "fast"}), HasSubstr("'fast' is not a link"));
  EXPECT_THAT(error({"--devices", "8", "--link", "1Gb", "--mtbf", "soon"}),
              HasSubstr("'soon' is not a duration"));
  EXPECT_THAT(error({"--link", "1Gb"}), HasSubstr("--devices is required"));
  EXPECT_THAT(error({"--devices", "8"}), HasSubstr("--link is required"));
  EXPECT_THAT(error({"--devices", "8", "--link", "1Gb", "--loss", "guess"}), HasSubstr("guess"));
}

}  // namespace
}  // namespace tartan::cli
