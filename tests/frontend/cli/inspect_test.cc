// SPDX-License-Identifier: Apache-2.0
// Tests of the counts that `tartan inspect` gives for models whose graph depends on values.
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "frontend/cli/file_io.h"
#include "proto/report.pb.h"
#include "tests/frontend/cli/run_program.h"
#include "tests/frontend/onnx/model_text.h"

namespace tartan::cli {
namespace {

constexpr int kFloat = 1;
constexpr int kInt64 = 7;

proto::InspectReport Inspect(const std::string& graph, int opset = 13) {
  const std::string path = ::testing::TempDir() + "inspect_test.onnx";
  EXPECT_TRUE(WriteFile(path, onnx::ModelBytes(graph, opset)).ok());
  const auto result = RunTartan({"inspect", path, "--format", "json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  proto::InspectReport report;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(result.out, &report).ok()) << result.out;
  EXPECT_EQ(report.problem(), "");
  return report;
}

TEST(Inspect, CountsTheKernelsOnBothSidesOfAResultWhoseSizeDependsOnValues) {
  const auto report =
      Inspect(absl::StrCat("graph { name: 'g' ", onnx::ValueText("input", "x", kFloat, "100"),
                           onnx::ValueText("output", "y", kInt64, "a b"),
                           "node { op_type: 'Exp' input: 'x' output: 'e' }",
                           "node { op_type: 'NonZero' input: 'e' output: 'n' }",
                           "node { op_type: 'Mul' input: 'n' input: 'n' output: 'y' } }"));
  EXPECT_EQ(report.kernels(), 2);
  EXPECT_EQ(report.flops(), 200);
  EXPECT_GT(report.peak_bytes(), 0);
}

// The number of kernels of one node on `x` float32[dims].
int64_t KernelsOf(const std::string& node, const std::string& dims) {
  return Inspect(absl::StrCat("graph { name: 'g' ", onnx::ValueText("input", "x", kFloat, dims),
                              onnx::ValueText("input", "s", kFloat, "64"),
                              onnx::ValueText("output", "y", kFloat, dims), "node { output: 'y' ",
                              node, " } }"),
                 24)
      .kernels();
}

TEST(Inspect, HotOperatorsAreFused) {
  EXPECT_EQ(KernelsOf("op_type: 'Softmax' input: 'x'", "12 64"), 1);
  EXPECT_EQ(KernelsOf("op_type: 'Gelu' input: 'x'", "12 64"), 1);
  EXPECT_EQ(KernelsOf("op_type: 'LayerNormalization' input: 'x' input: 's'", "12 64"), 1);
  EXPECT_EQ(KernelsOf("op_type: 'RMSNormalization' input: 'x' input: 's'", "12 64"), 1);
  // A matmul, the softmax, a matmul.
  EXPECT_EQ(KernelsOf("op_type: 'Attention' input: 'x' input: 'x' input: 'x'", "2 3 16 64"), 3);
}

}  // namespace
}  // namespace tartan::cli
