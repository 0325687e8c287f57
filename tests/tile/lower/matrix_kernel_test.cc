// SPDX-License-Identifier: Apache-2.0
// Kernels for matrix units, run by the interpreter, against the naive evaluator.
#include "tile/lower/gpu/matrix_kernel.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/matrix_programs.h"
#include "tests/tile/compiler/programs.h"
#include "tile/compiler/compiler.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::lower {
namespace {

class MatrixKernelTest : public testing::TestWithParam<std::tuple<MatrixProgram, MatrixFormat>> {};

TEST_P(MatrixKernelTest, EqualsTheNaiveEvaluator) {
  const auto& [test, format] = GetParam();
  const ir::Program program = Bind(test);
  const std::vector<HostTensor> inputs = WholeNumbers(test);
  const auto expected = ir::EvaluateNaively(program, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  for (int64_t slices : {0, 4}) {
    compiler::CompileOptions options;
    options.settings = MatrixSettings();
    options.force_64bit_indices = slices == 4;
    std::string plans;
    const auto list =
        compiler::Compile(program, options, PlanForMatrixUnit(format, slices, &plans));
    ASSERT_TRUE(list.ok()) << list.status();
    EXPECT_NE(plans, "");
    const auto actual = compiler::InterpretList(*list, inputs);
    ASSERT_TRUE(actual.ok()) << actual.status() << "\n" << plans;
    for (size_t o = 0; o < expected->size(); ++o) {
      EXPECT_EQ(FirstDifference((*actual)[o], (*expected)[o], 0), "") << plans;
    }
  }
}

TEST(MatrixCandidate, LeavesProductsWithoutPointsToOthers) {
  const std::string code =
      "function (A[M, L], B[L, N]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[k, j]); }";
  for (const auto& [a, b] :
       {std::pair<std::vector<int64_t>, std::vector<int64_t>>({0, 3}, {3, 4}),
        std::pair<std::vector<int64_t>, std::vector<int64_t>>({5, 0}, {0, 4})}) {
    compiler::CompileOptions options;
    options.settings = MatrixSettings();
    std::string plans;
    const MatrixProgram test = {"Empty", code, {a, b}};
    const auto list =
        compiler::Compile(Bind(test), options, PlanForMatrixUnit(MatrixFormat::kTf32, 0, &plans));
    ASSERT_TRUE(list.ok()) << list.status();
    EXPECT_EQ(plans, "");
  }
}

INSTANTIATE_TEST_SUITE_P(All, MatrixKernelTest,
                         testing::Combine(testing::ValuesIn(MatrixPrograms()),
                                          testing::Values(MatrixFormat::kTf32,
                                                          MatrixFormat::kBFloat16,
                                                          MatrixFormat::kFloat16)),
                         [](const auto& info) {
                           return absl::StrCat(std::get<0>(info.param).name, "In",
                                               Name(std::get<1>(info.param)));
                         });

}  // namespace
}  // namespace tartan::lower
