// SPDX-License-Identifier: Apache-2.0
// Tests of `tartan verify` through its command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "frontend/cli/file_io.h"
#include "proto/onnx.pb.h"
#include "tests/frontend/cli/run_program.h"
#include "tests/frontend/onnx/model_text.h"

namespace tartan::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Verify, NamesTheFirstNodeThatDeparts) {
  const std::string folder = "/usr/share/libonnx-testdata/data/node/test_exp";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  // With a tolerance of zero: a device's exponential is not correctly rounded.
  const ProgramResult result =
      RunTartan({"--tier", "ready", "verify", folder, "--rtol", "0", "--atol", "0", "--bisect"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("departs from the naive evaluator is -> y (Exp)"));
}

// Writes the case of a model y = -x with x[batch, M]; the data set has a batch of 3 rows of 2.
std::string NegationCase() {
  const std::string folder = ::testing::TempDir() + "verify_command_test_negation";
  std::filesystem::create_directories(folder + "/test_data_set_0");
  const auto write = [&](const std::string& name, const std::string& bytes) {
    EXPECT_TRUE(WriteFile(folder + "/" + name, bytes).ok());
  };
  write("model.onnx", onnx::ModelBytes("graph { " + onnx::ValueText("input", "x", 1, "batch M") +
                                       onnx::ValueText("output", "y", 1, "batch M") +
                                       onnx::NodeText("Neg", {"x"}, {"y"}) + "}"));
  for (const float sign : {1.0F, -1.0F}) {
    onnx::TensorProto tensor;
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_dims(3);
    tensor.add_dims(2);
    for (int i = 0; i < 6; ++i) tensor.add_float_data(sign * static_cast<float>(i));
    write(sign > 0 ? "test_data_set_0/input_0.pb" : "test_data_set_0/output_0.pb",
          tensor.SerializeAsString());
  }
  return folder;
}

TEST(Verify, TakesTheSizesThatDataMustHave) {
  const std::string folder = NegationCase();
  for (const char* shape : {"batch=3", "x=3x2", "M=2"}) {
    EXPECT_EQ(RunTartan({"verify", folder, "--shape", shape}).exit_code, 0) << shape;
  }
  EXPECT_EQ(RunTartan({"verify", folder, "--shape", "batch=3", "--shape", "M=2"}).exit_code, 0);
  const auto error_of = [&](const char* shape) -> std::string {
    const ProgramResult result = RunTartan({"verify", folder, "--shape", shape});
    EXPECT_EQ(result.exit_code, 1) << result.out;
    return result.out;
  };
  EXPECT_THAT(error_of("batch=4"), AllOf(HasSubstr("[4, M]"), HasSubstr("[3, 2]")));
  EXPECT_THAT(error_of("x=3x5"), AllOf(HasSubstr("[3, 5]"), HasSubstr("[3, 2]")));
  EXPECT_THAT(error_of("width=4"), HasSubstr("there is no input or open size 'width'"));
}

}  // namespace
}  // namespace tartan::cli
