// SPDX-License-Identifier: Apache-2.0
// Tests matrix-unit kernels in the interpreter, against the naive evaluator.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/matrix_programs.h"
#include "tests/tile/compiler/programs.h"
#include "tile/compiler/compiler.h"
#include "tile/lower/gpu/mma_kernel.h"
#include "tile/plan/matrix/split_k.h"
#include "tile/plan/select/select_plan.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::lower {
namespace {

class MatrixKernelTest : public testing::TestWithParam<std::tuple<MatrixProgram, MatrixFormat>> {};

TEST_P(MatrixKernelTest, EqualsTheNaiveEvaluator) {
  const auto& [test, format] = GetParam();
  const auto [program, inputs, expected] = CaseOf(test);
  for (const auto& [slices, packed] : {std::pair(0, PackedFactors::kConstants),
                                       {4, PackedFactors::kConstants},
                                       {0, PackedFactors::kAll}}) {
    compiler::CompileOptions options;
    options.settings = MatrixSettings();
    options.force_64bit_indices = slices == 4;
    options.disabled_passes.insert("fuse-attention");  // would fuse small matmuls into one launch
    std::string plans;
    const auto list =
        compiler::Compile(program, options, PlanForMatrixUnit(format, slices, &plans, packed));
    ASSERT_TRUE(list.ok()) << list.status();
    EXPECT_NE(plans, "");
    const auto actual = compiler::InterpretList(*list, inputs);
    ASSERT_TRUE(actual.ok()) << actual.status() << "\n" << plans;
    for (size_t o = 0; o < expected.size(); ++o) {
      EXPECT_EQ(FirstDifference((*actual)[o], expected[o], 0), "") << plans;
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

// Covers full K chunks and a shorter last one, an epilogue, and a window with padding.
TEST(SplitKCandidate, AddsUpRunsOfTheDepth) {
  const MatrixProgram product = {
      "Product",
      "function (A[M, L], B[L, N], C) -> (R) { P[i, j : M, N] = +(A[i, k] * B[k, j]); R = P * 2 + "
      "C; }",
      {{70, 1000}, {1000, 40}, {40}},
      {false, true}};
  const MatrixProgram window = {
      "Window",
      "function (D[X, CI], K[I, CI, CO]) -> (R) { R[x, co : X, CO] = +(D[x+i-1, ci] * K[i, ci, "
      "co]); }",
      {{9, 640}, {3, 640, 12}},
      {false, true}};
  for (const MatrixProgram& test : {product, window}) {
    const auto [program, inputs, expected] = CaseOf(test);
    for (const Precision precision : {Precision::kTf32, Precision::kBFloat16}) {
      compiler::CompileOptions options;
      options.settings = MatrixSettings();
      options.precision = precision;
      int splits = 0;
      compiler::CompileHooks hooks;
      hooks.planner = [&](const poly::FlatContraction& flat, const plan::LaunchContext& launch) {
        auto split = plan::SplitKCandidate(poly::MergeIndices(flat), options.settings,
                                           *FormatOf(precision), launch.is_constant);
        EXPECT_TRUE(split.has_value());
        ++splits;
        return split.has_value() ? *std::move(split)
                                 : plan::PlanKernel(flat, options.settings, launch);
      };
      const auto list = compiler::Compile(program, options, hooks);
      ASSERT_TRUE(list.ok()) << list.status();
      EXPECT_EQ(splits, 1);
      EXPECT_EQ(list->steps.size(), 2);
      const auto actual = compiler::InterpretList(*list, inputs);
      ASSERT_TRUE(actual.ok()) << actual.status();
      EXPECT_EQ(FirstDifference((*actual)[0], expected[0], 0), "");
    }
  }
}

TEST(SplitKCandidate, IsQuickestWhereRowsAreFewAndTheDepthIsLong) {
  const auto kernels = [](int64_t depth) {
    const MatrixProgram test = {
        "Product",
        "function (A[M, L], B[L, N]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[k, j]); }",
        {{128, depth}, {depth, 768}},
        {false, true}};
    compiler::CompileOptions options;
    options.settings = MatrixSettings();
    options.settings.clock_mhz = 1980;
    options.settings.launch_us = 3;
    options.precision = Precision::kTf32;
    const auto list = compiler::Compile(Bind(test), options);
    EXPECT_TRUE(list.ok()) << list.status();
    std::vector<bool> uses_unit;
    for (const compiler::Step& step : list->steps) {
      const loop::Kernel& kernel = list->kernels[std::get<compiler::LaunchStep>(step).kernel];
      uses_unit.push_back(absl::StrContains(loop::ToString(kernel), "multiply tiles"));
    }
    return uses_unit;
  };
  EXPECT_EQ(kernels(512), std::vector<bool>({true}));
  EXPECT_EQ(kernels(3072), std::vector<bool>({true, false}));
}

TEST(MatrixCost, CountsInstructionsOfTheEpilogue) {
  const auto predicted_us = [](const std::string& epilogue) {
    const MatrixProgram test = {
        "Matmul",
        "function (A[M, L], B[L, N]) -> (R) { P[i, j : M, N] = +(A[i, k] * B[k, j]); R = " +
            epilogue + "; }",
        {{6304, 768}, {768, 3072}},
        {false, true}};
    compiler::CompileOptions options;
    options.settings = MatrixSettings();
    options.settings.clock_mhz = 1980;
    options.settings.gbps = 4000;
    options.settings.launch_us = 3;
    options.precision = Precision::kTf32;
    const auto list = compiler::Compile(Bind(test), options);
    EXPECT_TRUE(list.ok()) << list.status();
    return std::get<compiler::LaunchStep>(list->steps.back()).predicted_us;
  };
  const double plain = predicted_us("P * 2");
  EXPECT_GT(plain, 0);
  EXPECT_GT(predicted_us("erf(P) * tanh(P) * exp(P)"), 1.1 * plain);
}

TEST(SplitKCandidate, LeavesShortSumsAndOtherAggregations) {
  const auto candidate = [](const std::string& sum, int64_t depth) {
    std::optional<plan::PlannedKernel> found;
    compiler::CompileHooks hooks;
    hooks.planner = [&](const poly::FlatContraction& flat, const plan::LaunchContext& launch) {
      found = plan::SplitKCandidate(poly::MergeIndices(flat), MatrixSettings(), MatrixFormat::kTf32,
                                    launch.is_constant);
      return plan::PlanKernel(flat, MatrixSettings(), launch);
    };
    compiler::CompileOptions options;
    options.settings = MatrixSettings();
    const MatrixProgram test = {
        "Product",
        "function (A[M, L], B[L, N]) -> (R) { R[i, j : M, N] = " + sum + "; }",
        {{64, depth}, {depth, 64}}};
    EXPECT_TRUE(compiler::Compile(Bind(test), options, hooks).ok());
    return found.has_value();
  };
  EXPECT_TRUE(candidate("+(A[i, k] * B[k, j])", 1024));
  EXPECT_FALSE(candidate("+(A[i, k] * B[k, j])", 256));
  EXPECT_FALSE(candidate(">(A[i, k] * B[k, j])", 1024));
  EXPECT_FALSE(candidate("+(A[i, k] + B[k, j])", 1024));
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
