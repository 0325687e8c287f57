// SPDX-License-Identifier: Apache-2.0
// Kernels for matrix units on the OpenCL device at hand, against the naive evaluator: those of a
// GPU that has one as its instructions, those of others as the loops that stand for them.
#include <gtest/gtest.h>

#include <tuple>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/matrix_programs.h"
#include "tests/tile/compiler/programs.h"
#include "tests/tile/evaluator/device.h"
#include "tests/tile/evaluator/list_runner.h"
#include "tile/compiler/compiler.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::evaluator {
namespace {

// PoCL starts threads for no work-group, and runs 128 work-items of a kernel with barriers as loops.
class MatrixDeviceTest : public testing::TestWithParam<std::tuple<MatrixProgram, MatrixFormat>> {};

TEST_P(MatrixDeviceTest, EqualsTheNaiveEvaluatorOnTheDevice) {
  ASSERT_NE(TestDevice(), nullptr) << "no OpenCL device";
  const auto& [test, format] = GetParam();
  const ir::Program program = Bind(test);
  const std::vector<HostTensor> inputs = WholeNumbers(test);
  const auto expected = ir::EvaluateNaively(program, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  compiler::CompileOptions options;
  options.settings = MatrixSettings();
  // A device that only plays one has half of the forms: its compiler takes its time.
  const bool has_unit = TestSettings().matrix_local_bytes > 0;
  for (int64_t slices : has_unit ? std::vector<int64_t>{0, 2, 4} : std::vector<int64_t>{0}) {
    std::string plans;
    const auto list = compiler::Compile(program, options, PlanForMatrixUnit(format, slices, &plans));
    ASSERT_TRUE(list.ok()) << list.status();
    EXPECT_NE(plans, "");
    const HostTensor actual = ListRunner(*list, *TestDevice()).Run(inputs);
    EXPECT_EQ(FirstDifference(actual, (*expected)[0], 0), "") << plans;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, MatrixDeviceTest,
    testing::Combine(testing::ValuesIn(MatrixPrograms()),
                     testing::Values(MatrixFormat::kTf32, MatrixFormat::kBFloat16,
                                     MatrixFormat::kFloat16)),
    [](const auto& info) {
      return absl::StrCat(std::get<0>(info.param).name, "In", Name(std::get<1>(info.param)));
    });

}  // namespace
}  // namespace tartan::evaluator
