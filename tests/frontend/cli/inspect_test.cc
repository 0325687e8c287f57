// What `tartan inspect` counts of a model whose values decide how it goes on.
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "frontend/cli/file_io.h"
#include "proto/report.pb.h"
#include "tests/frontend/cli/run_program.h"
#include "tests/frontend/onnx/model_text.h"

namespace tartan::cli {
namespace {

TEST(Inspect, CountsTheKernelsOnBothSidesOfAResultWhoseSizeDependsOnValues) {
  constexpr int kFloat = 1;
  constexpr int kInt64 = 7;
  // One kernel before NonZero, one after it.
  const std::string text =
      absl::StrCat("graph { name: 'g' ", onnx::ValueText("input", "x", kFloat, "100"),
                   onnx::ValueText("output", "y", kInt64, "a b"),
                   "node { op_type: 'Exp' input: 'x' output: 'e' }",
                   "node { op_type: 'NonZero' input: 'e' output: 'n' }",
                   "node { op_type: 'Mul' input: 'n' input: 'n' output: 'y' } }");
  const std::string path = ::testing::TempDir() + "inspect_test.onnx";
  ASSERT_TRUE(WriteFile(path, onnx::ModelBytes(text)).ok());
  const auto result = RunTartan({"inspect", path, "--format", "json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  proto::InspectReport report;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(result.out, &report).ok()) << result.out;
  EXPECT_EQ(report.problem(), "");
  EXPECT_EQ(report.kernels(), 2);
  EXPECT_EQ(report.flops(), 200);
  EXPECT_GT(report.peak_bytes(), 0);
}

}  // namespace
}  // namespace tartan::cli
