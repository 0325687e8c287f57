// SPDX-License-Identifier: Apache-2.0
// Tests of `tartan grad-check` through the command line.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include "frontend/cli/file_io.h"
#include "proto/report.pb.h"
#include "tests/frontend/cli/run_program.h"
#include "tests/frontend/onnx/model_text.h"

namespace tartan::cli::grad_check_command_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Writes the model y = OP(x + w).
std::string Written(const std::string& op, bool has_parameter) {
  const std::string graph =
      "graph { name: 'g' " + onnx::ValueText("input", "x", 1, "2") + " output { name: 'y' } " +
      (has_parameter ? "initializer { name: 'w' data_type: 1 dims: 2 float_data: 0.5 "
                       "float_data: 1.5 } "
                     : "") +
      onnx::NodeText("Add", {"x", has_parameter ? "w" : "x"}, {"h"}) +
      onnx::NodeText(op, {"h"}, {"y"}) + "}";
  const std::string path =
      ::testing::TempDir() + "grad_check_" + op + (has_parameter ? "" : "_alone") + ".onnx";
  EXPECT_TRUE(WriteFile(path, onnx::ModelBytes(graph)).ok());
  return path;
}

ProgramResult Check(const std::string& model, const std::vector<std::string>& more = {"--random"}) {
  std::vector<std::string> all = {"grad-check", model, "--format", "json"};
  all.insert(all.end(), more.begin(), more.end());
  return RunTartan(all);
}

proto::GradCheckReport ReportIn(const ProgramResult& result) {
  proto::GradCheckReport report;
  const auto status = google::protobuf::util::JsonStringToMessage(result.out, &report);
  EXPECT_TRUE(status.ok()) << result.out;
  return report;
}

TEST(GradCheckCommand, AModelThatPassesIsReportedByParameter) {
  const ProgramResult result = Check(Written("Tanh", true));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const proto::GradCheckReport report = ReportIn(result);
  EXPECT_TRUE(report.passed());
  ASSERT_EQ(report.parameters_size(), 1);
  EXPECT_EQ(report.parameters(0).name(), "w");
  EXPECT_EQ(report.parameters(0).status(), "ok");
  EXPECT_EQ(report.parameters(0).checked(), 2);
  EXPECT_LT(report.parameters(0).max_rel_error(), 1e-8);
  EXPECT_GT(report.parameters(0).training_error(), 1e-12) << "that of float32";
  EXPECT_LT(report.parameters(0).training_error(), 1e-6);
}

TEST(GradCheckCommand, CornersAreCountedAndDoNotFail) {
  const ProgramResult result = Check(Written("Relu", true), {"--input", "x=-0.5"});
  // One element is at the corner of the function, the other above it.
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const proto::GradCheckReport report = ReportIn(result);
  ASSERT_EQ(report.parameters_size(), 1);
  EXPECT_EQ(report.parameters(0).kinks(), 2) << "an element, and the direction";
}

TEST(GradCheckCommand, OperatorsWithoutAGradientAreListed) {
  const ProgramResult result = Check(Written("Floor", true));
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("gradients end at Floor"));
  const proto::GradCheckReport report = ReportIn(result);
  EXPECT_FALSE(report.passed());
  ASSERT_EQ(report.operators_size(), 1);
  EXPECT_EQ(report.operators(0), "Floor");
  ASSERT_EQ(report.parameters_size(), 1);
  EXPECT_EQ(report.parameters(0).status(), "none");
  ASSERT_EQ(report.parameters(0).ends_size(), 1);
  EXPECT_EQ(report.parameters(0).ends(0), "y (Floor)");
}

TEST(GradCheckCommand, AModelWithoutParametersTellsWhereGradientsOfItsInputsEnd) {
  const ProgramResult result = Check(Written("Ceil", false));
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("gradients of its inputs end at Ceil"));
  EXPECT_EQ(ReportIn(result).operators_size(), 1);
}

TEST(GradCheckCommand, AModelWithoutParametersIsTheModelsFault) {
  const ProgramResult result = Check(Written("Tanh", false));
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("no float initialisers"));
  EXPECT_THAT(result.out, IsEmpty());
}

TEST(GradCheckCommand, AnExpressionThatIsNoneIsTheUsersFault) {
  const ProgramResult result = Check(Written("Tanh", true), {"--random", "--frozen", "("});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("not a regular expression"));
}

TEST(GradCheckCommand, AMissingFileIsAnErrorOfFiles) {
  EXPECT_EQ(Check("/nowhere/model.onnx").exit_code, 6);
}

}  // namespace
}  // namespace tartan::cli::grad_check_command_test
