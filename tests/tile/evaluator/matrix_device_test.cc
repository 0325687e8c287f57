// SPDX-License-Identifier: Apache-2.0
// Tests matrix-unit kernels on the available OpenCL device, against the naive evaluator. GPUs with
// a matrix unit run its instructions; other devices run loops that emulate them.
#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <random>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/matrix_programs.h"
#include "tests/tile/compiler/programs.h"
#include "tests/tile/evaluator/device.h"
#include "tests/tile/evaluator/list_runner.h"
#include "tile/compiler/compiler.h"

namespace tartan::evaluator {
namespace {

// Works on PoCL, which runs the 128 work-items of a kernel with barriers as loops in one thread.
class MatrixDeviceTest : public testing::TestWithParam<std::tuple<MatrixProgram, MatrixFormat>> {};

TEST_P(MatrixDeviceTest, EqualsTheNaiveEvaluatorOnTheDevice) {
  ASSERT_NE(TestDevice(), nullptr) << "no OpenCL device";
  const auto& [test, format] = GetParam();
  const auto [program, inputs, expected] = CaseOf(test);
  compiler::CompileOptions options;
  options.settings = MatrixSettings();
  options.disabled_passes.insert("fuse-attention");  // would fuse small matmuls into one launch
  // A device that emulates the unit runs one case only, because its compiler is slow.
  const bool has_unit = TestSettings().matrix_local_bytes > 0;
  for (int64_t slices : has_unit ? std::vector<int64_t>{0, 1, 2, 4} : std::vector<int64_t>{0}) {
    std::string plans;
    const PackedFactors packed = slices == 1 ? PackedFactors::kAll : PackedFactors::kConstants;
    const auto list =
        compiler::Compile(program, options, PlanForMatrixUnit(format, slices, &plans, packed));
    ASSERT_TRUE(list.ok()) << list.status();
    EXPECT_NE(plans, "");
    const HostTensor actual = ListRunner(*list, *TestDevice()).Run(inputs);
    EXPECT_EQ(FirstDifference(actual, expected[0], 0), "") << plans;
  }
}

// Factors have more bits than the format, and some are NaN or infinite.
TEST(MatrixDevice, RoundsFactorsAsTheInterpreterDoes) {
  ASSERT_NE(TestDevice(), nullptr) << "no OpenCL device";
  const MatrixProgram test = {
      "Product",
      "function (A[M, L], B[N, L]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[j, k]); }",
      {{70, 96}, {40, 96}},
      {false, true}};
  std::mt19937 random(13);
  std::normal_distribution<float> normal;
  std::vector<HostTensor> inputs;
  for (const std::vector<int64_t>& dims : test.inputs) {
    std::vector<float> values(static_cast<size_t>(dims[0] * dims[1]));
    for (float& value : values) value = normal(random);
    if (inputs.empty()) {
      values[0] = std::numeric_limits<float>::infinity();
      values[96] = std::bit_cast<float>(0x7fffffffu);
      values[2 * 96] = -std::bit_cast<float>(0x7fffffffu);
    }
    inputs.push_back(HostTensor::FromVector({DataType::kFloat32, dims}, values));
  }
  for (const MatrixFormat format :
       {MatrixFormat::kTf32, MatrixFormat::kBFloat16, MatrixFormat::kFloat16}) {
    compiler::CompileOptions options;
    options.settings = MatrixSettings();
    std::string plans;
    const auto list = compiler::Compile(Bind(test), options, PlanForMatrixUnit(format, 0, &plans));
    ASSERT_TRUE(list.ok()) << list.status();
    const auto expected = compiler::InterpretList(*list, inputs);
    ASSERT_TRUE(expected.ok()) << expected.status();
    const HostTensor actual = ListRunner(*list, *TestDevice()).Run(inputs);
    // The order of summation differs, and matrix units keep fewer bits of sums than float32.
    EXPECT_EQ(FirstDifference(actual, (*expected)[0], 3e-5), "") << plans;
  }
}

class RowStreamDeviceTest : public testing::TestWithParam<MatrixProgram> {};

TEST_P(RowStreamDeviceTest, EqualsTheNaiveEvaluatorOnTheDevice) {
  ASSERT_NE(TestDevice(), nullptr) << "no OpenCL device";
  const MatrixProgram& test = GetParam();
  const auto [program, inputs, expected] = CaseOf(test);
  compiler::CompileOptions options;
  options.settings = MatrixSettings();
  int count = 0;
  const auto list = compiler::Compile(program, options, PlanRowStreams(4, &count));
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_GT(count, 0);
  const HostTensor actual = ListRunner(*list, *TestDevice()).Run(inputs);
  EXPECT_EQ(FirstDifference(actual, expected[0], 0), "");
}

INSTANTIATE_TEST_SUITE_P(All, RowStreamDeviceTest, testing::ValuesIn(RowStreamPrograms()),
                         [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(All, MatrixDeviceTest,
                         testing::Combine(testing::ValuesIn(MatrixPrograms()),
                                          testing::Values(MatrixFormat::kTf32,
                                                          MatrixFormat::kBFloat16,
                                                          MatrixFormat::kFloat16)),
                         [](const auto& info) {
                           return absl::StrCat(std::get<0>(info.param).name, "In",
                                               Name(std::get<1>(info.param)));
                         });

}  // namespace
}  // namespace tartan::evaluator
