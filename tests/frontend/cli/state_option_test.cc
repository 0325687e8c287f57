// SPDX-License-Identifier: Apache-2.0
// Tests of `tartan run` and `bench` with --state, which feeds outputs back as inputs of the next
// run.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include "frontend/cli/file_io.h"
#include "proto/report.pb.h"
#include "tests/backend_opencl/temporary_directory.h"
#include "tests/frontend/cli/run_program.h"
#include "tests/frontend/onnx/model_text.h"

namespace tartan::cli::state_option_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StateOption : public ::testing::Test {
 protected:
  // The model h_next = h + x, y = 2 h_next. If `grows`, h_next = [h, x].
  std::string Model(bool grows) const {
    const std::string sizes = grows ? "n" : "2";
    const std::string bytes = onnx::ModelBytes(
        "graph { " + onnx::ValueText("input", "x", 1, "2") +
        onnx::ValueText("input", "h", 1, sizes) + onnx::ValueText("output", "y", 1, sizes) +
        onnx::ValueText("output", "h_next", 1, sizes) +
        onnx::NodeText(grows ? "Concat" : "Add", {"h", "x"}, {"h_next"},
                       grows ? "attribute { name: 'axis' type: INT i: 0 }" : "") +
        onnx::NodeText("Add", {"h_next", "h_next"}, {"y"}) + "}");
    const std::string path = folder_.path() + "/model.onnx";
    EXPECT_TRUE(WriteFile(path, bytes).ok());
    return path;
  }

 private:
  const TemporaryDirectory folder_;
};

TEST_F(StateOption, RunBeginsWithZerosAndLeavesStatesOut) {
  const ProgramResult result =
      RunTartan({"run", Model(false), "--input", "x=3", "--state", "h_next=h", "--format", "json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  proto::RunReport report;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(result.out, &report).ok());
  ASSERT_EQ(report.outputs_size(), 1);
  EXPECT_EQ(report.outputs(0).name(), "y");
  EXPECT_THAT(report.outputs(0).data(), ElementsAre(6, 6));
}

TEST_F(StateOption, BenchMeasuresStepsOfOneSize) {
  const ProgramResult result = RunTartan({"bench", Model(false), "--state", "h_next=h", "--count",
                                          "5", "--profile", "--format", "json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  proto::BenchReport report;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(result.out, &report).ok());
  EXPECT_EQ(report.runs(), 5);
  EXPECT_GT(report.profile_size(), 0);
  const ProgramResult growing = RunTartan({"bench", Model(true), "--state", "h_next=h"});
  EXPECT_EQ(growing.exit_code, 2);
  EXPECT_THAT(growing.err, HasSubstr("tartan generate"));
}

TEST_F(StateOption, NamesThatAreNotThereAreUsage) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"g=h", "no output 'g'; it has y, h_next"},
      {"h_next=g", "no input 'g'; it has x, h"},
      {"h_next", "PRESENT=PAST"}};
  for (const auto& [state, message] : bad) {
    const ProgramResult result =
        RunTartan({"run", Model(false), "--input", "x=3", "--state", state});
    EXPECT_EQ(result.exit_code, 2) << state;
    EXPECT_THAT(result.err, HasSubstr(message));
  }
}

}  // namespace
}  // namespace tartan::cli::state_option_test
