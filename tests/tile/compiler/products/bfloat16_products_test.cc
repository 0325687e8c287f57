// SPDX-License-Identifier: Apache-2.0
// Tests which float32 matmuls CPUs compute with bfloat16 factors, and with which results.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/products/bfloat16_programs.h"
#include "tile/compiler/compiler.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::compiler::bfloat16_test {
namespace {

class BFloat16ProductsTest : public testing::TestWithParam<std::tuple<MatrixProgram, int>> {};

// The inputs are integers that bfloat16 represents exactly.
TEST_P(BFloat16ProductsTest, AreExactWhereFactorsAreExact) {
  const auto& [test, lanes] = GetParam();
  const auto [program, inputs, expected] = CaseOf(test);
  for (const bool has_instruction : {true, false}) {
    const HardwareSettings settings = BFloat16Settings(lanes, has_instruction);
    for (const int candidate : {0, 1, 3}) {
      const auto list =
          Compile(program, OptionsForBFloat16(settings), PlanForBFloat16(settings, candidate));
      ASSERT_TRUE(list.ok()) << list.status();
      EXPECT_EQ(CountDots(*list), 1);
      const auto actual = InterpretList(*list, inputs);
      ASSERT_TRUE(actual.ok()) << actual.status();
      EXPECT_EQ(FirstDifference((*actual)[0], expected[0], 0), "") << candidate;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, BFloat16ProductsTest,
                         testing::Combine(testing::ValuesIn(BFloat16Programs()),
                                          testing::Values(4, 8, 16)),
                         [](const auto& info) {
                           return absl::StrCat(std::get<0>(info.param).name, "By",
                                               std::get<1>(info.param));
                         });

constexpr char kProduct[] =
    "function (A[M, L], B[L, N]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[k, j]); }";

// Counts the kernels that use bfloat16 factors under the cost model's plans.
int Chosen(const MatrixProgram& test, const CompileOptions& options) {
  const auto list = Compile(Bind(test), options);
  EXPECT_TRUE(list.ok()) << list.status();
  return list.ok() ? CountDots(*list) : -1;
}

int Chosen(const MatrixProgram& test, bool has_instruction) {
  return Chosen(test,
                OptionsForBFloat16(BFloat16Settings(has_instruction ? 16 : 8, has_instruction)));
}

const MatrixProgram kLayer = {"Layer", kProduct, {{128, 768}, {768, 768}}, {false, true}};
const MatrixProgram kRow = {"Row", kProduct, {{1, 768}, {768, 3072}}, {false, true}};

TEST(BFloat16Products, AreComputedOnRequestAlone) {
  CompileOptions options = OptionsForBFloat16(BFloat16Settings(16, true));
  EXPECT_EQ(Chosen(kLayer, options), 1);
  options.disabled_passes = {"pack-matmuls"};
  EXPECT_EQ(Chosen(kLayer, options), 0);
  options.disabled_passes = {};
  options.tier = Tier::kReady;
  EXPECT_EQ(Chosen(kLayer, options), 0);
  for (const Precision other : {Precision::kFloat32, Precision::kTf32, Precision::kFloat16}) {
    CompileOptions strict;
    strict.settings = BFloat16Settings(16, true);
    strict.precision = other;
    EXPECT_EQ(Chosen(kLayer, strict), 0) << Name(other);
  }
}

TEST(BFloat16Products, WithoutAnInstructionAreThoseThatReadMuchForLittle) {
  EXPECT_EQ(Chosen(kLayer, false), 0);
  EXPECT_EQ(Chosen(kRow, false), 1);
  EXPECT_EQ(Chosen(kRow, true), 1);
}

TEST(BFloat16Products, AreNoneWhereEachNumberWouldBeRoundedForOneUse) {
  MatrixProgram row = kRow;
  row.is_constant = {false, false};
  EXPECT_EQ(Chosen(row, true), 0);
  const MatrixProgram squares = {
      "Squares", "function (A[M, N]) -> (S) { S[m : M] = +(A[m, n] * A[m, n]); }", {{512, 1024}}};
  EXPECT_EQ(Chosen(squares, true), 0);
}

TEST(BFloat16Products, AreNoneWithoutASum) {
  const MatrixProgram greatest = {
      "Greatest",
      "function (A[M, L], B[L, N]) -> (C) { C[i, j : M, N] = >(A[i, k] * B[k, j]); }",
      {{128, 128}, {128, 128}}};
  EXPECT_EQ(Chosen(greatest, true), 0);
  const MatrixProgram sums = {
      "Sums",
      "function (A[M, L], B[L, N]) -> (C) { C[i, j : M, N] = +(A[i, k] + B[k, j]); }",
      {{128, 128}, {128, 128}}};
  EXPECT_EQ(Chosen(sums, true), 0);
}

// Winograd's algorithm saves more than half of the multiplications; the bfloat16 instruction
// computes two at a time and saves more in total.
TEST(BFloat16Products, AreQuickerThanWinogradsAlgorithmWithAnInstruction) {
  const MatrixProgram convolution = {
      "Convolution",
      "function (D[N, X, Y, CI], K[I, J, CI, CO]) -> (O) { O[n, x, y, co : N, X, Y, CO] = "
      "+(D[n, x+i-1, y+j-1, ci] * K[i, j, ci, co]); }",
      {{1, 56, 56, 128}, {3, 3, 128, 128}},
      {false, true}};
  CompileOptions strict;
  strict.settings = BFloat16Settings(16, true);
  EXPECT_EQ(Compile(Bind(convolution), strict)->steps.size(), 4u) << "no Winograd";
  EXPECT_EQ(Chosen(convolution, true), 1);
  EXPECT_EQ(Chosen(convolution, false), 0);
}

TEST(BFloat16Products, TakeWeightsFromHalfOfTheMemory) {
  const auto list = Compile(Bind(kRow), OptionsForBFloat16(BFloat16Settings(16, true)));
  ASSERT_TRUE(list.ok()) << list.status();
  int64_t largest = 0;  // bytes of the largest buffer that a launch of every run reads
  for (const Step& step : list->steps) {
    for (const int buffer : BuffersOf(*list, step).read) {
      largest = std::max(largest, list->buffers[buffer].bytes);
    }
  }
  EXPECT_EQ(largest, 768 * 3072 * 2);
}

}  // namespace
}  // namespace tartan::compiler::bfloat16_test
