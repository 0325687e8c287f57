// SPDX-License-Identifier: Apache-2.0
// Tests matmuls of few rows with streamed weights, in the interpreter, against the naive evaluator.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/matrix_programs.h"
#include "tests/tile/compiler/programs.h"
#include "tile/compiler/compiler.h"
#include "tile/lower/gpu/few_rows_kernel.h"

namespace tartan::lower {
namespace {

class RowStreamKernelTest : public testing::TestWithParam<MatrixProgram> {};

TEST_P(RowStreamKernelTest, EqualsTheNaiveEvaluator) {
  const MatrixProgram& test = GetParam();
  const auto [program, inputs, expected] = CaseOf(test);
  for (const int64_t units : {1, 4, 132}) {
    compiler::CompileOptions options;
    options.settings = MatrixSettings();
    options.force_64bit_indices = units == 4;
    int count = 0;
    const auto list = compiler::Compile(program, options, PlanRowStreams(units, &count));
    ASSERT_TRUE(list.ok()) << list.status();
    EXPECT_GT(count, 0);
    const auto actual = compiler::InterpretList(*list, inputs);
    ASSERT_TRUE(actual.ok()) << actual.status();
    for (size_t o = 0; o < expected.size(); ++o) {
      EXPECT_EQ(FirstDifference((*actual)[o], expected[o], 0), "") << units << " units";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, RowStreamKernelTest, testing::ValuesIn(RowStreamPrograms()),
                         [](const auto& test) { return test.param.name; });

// Rejects many rows, variable weights, weights that depend on a row index, and windows.
TEST(RowStreamCandidate, LeavesOthersAlone) {
  const std::string matmul =
      "function (A[M, L], B[L, N]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[k, j]); }";
  const std::vector<MatrixProgram> others = {
      {"FiveRows", matmul, {{5, 24}, {24, 40}}, {false, true}},
      {"Variables", matmul, {{1, 24}, {24, 40}}},
      {"BFloats", matmul, {{1, 24}, {24, 40}}, {false, true}, DataType::kBFloat16},
      {"Batched",
       "function (A[E, L], B[E, L, N]) -> (C) { C[e, j : E, N] = +(A[e, k] * B[e, k, j]); }",
       {{3, 24}, {3, 24, 40}},
       {false, true}},
      {"Window",
       "function (A[X], B[L, N]) -> (C) { C[x, j : X, N] = +(A[x + k - 1] * B[k, j]); }",
       {{4}, {3, 40}},
       {false, true}},
  };
  for (const MatrixProgram& test : others) {
    compiler::CompileOptions options;
    options.settings = MatrixSettings();
    int count = 0;
    const auto list = compiler::Compile(Bind(test), options, PlanRowStreams(132, &count));
    ASSERT_TRUE(list.ok()) << list.status();
    EXPECT_EQ(count, 0) << test.name;
  }
}

}  // namespace
}  // namespace tartan::lower
