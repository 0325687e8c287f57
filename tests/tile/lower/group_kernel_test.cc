// SPDX-License-Identifier: Apache-2.0
// Tests work-group kernels with many plans each, on sizes that no tile divides, against the naive
// evaluator.
#include <gtest/gtest.h>

#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/programs.h"
#include "tests/tile/testing.h"
#include "tile/compiler/compiler.h"
#include "tile/ir/naive_evaluator.h"
#include "tile/loop/verify.h"
#include "tile/plan/gpu/group_search.h"
#include "tile/plan/gpu/group_staging.h"
#include "tile/plan/kernel_plan.h"
#include "tile/plan/select/select_plan.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::lower {
namespace {

HardwareSettings Gpu() {
  HardwareSettings settings = TestGpu(64, 4);
  settings.matrix_local_bytes = 100 << 10;
  return settings;
}

std::vector<TestProgram> Programs() {
  const std::string matmul = kMatMul;
  const std::string convolution = kPaddedConvolution;
  return {
      {"MatMulOfPrimes", matmul, {F32({13, 7}), F32({7, 37})}},
      {"MatMulOfVectors", matmul, {F32({20, 24}), F32({24, 36})}},
      {"MatMulOfOnes", matmul, {F32({1, 1}), F32({1, 1})}},
      {"MatMulWithoutElements", matmul, {F32({0, 3}), F32({3, 4})}},
      {"MatMulOverNothing", matmul, {F32({5, 0}), F32({0, 4})}},
      {"MatMulTransposed",
       "function (A[L, M], B[N, L]) -> (C) { C[i, j : M, N] = +(A[k, i] * B[j, k]); }",
       {F32({17, 12}), F32({20, 17})}},
      {"MatMulOfIntegers", matmul, {{DataType::kInt32, {9, 11}}, {DataType::kInt32, {11, 12}}}},
      {"MatMulOfHalves", matmul, {{DataType::kFloat16, {9, 12}}, {DataType::kFloat16, {12, 16}}}},
      {"MatMulOfDoubles", matmul, {{DataType::kFloat64, {9, 12}}, {DataType::kFloat64, {12, 16}}}},
      {"MatMulWithBias",
       "function (A[M, L], B[L, N], C) -> (O) { P[i, j : M, N] = +(A[i, k] * B[k, j]); S = P + C; "
       "O = (S > 0 ? S : 0); }",
       {F32({14, 9}), F32({9, 20}), F32({20})}},
      {"ColumnsInBlocks",
       "function (A[L, N]) -> (O) { O[b, k, l : N / 2, L, 2] = =(A[k, 2 * b + l]); }",
       {F32({40, 64})}},
      {"SameConvolution", convolution, {F32({2, 7, 5, 3}), F32({3, 3, 3, 4})}},
      {"SameConvolutionOfVectors", convolution, {F32({2, 9, 6, 8}), F32({3, 3, 8, 12})}},
      {"StridedConvolution",
       "function (D[N, C, Y, X], K[O, C, I, J], B) -> (R) { P[n, o, y, x : N, O, (Y+1)/2, (X+1)/2] "
       "= +(D[n, c, 2*y+i-1, 2*x+j-1] * K[o, c, i, j]); R = P + reshape(B, 4, 1, 1); }",
       {F32({1, 3, 9, 11}), F32({4, 3, 3, 3}), F32({4})}},
      {"DilatedConvolution",
       "function (I[N, Lx, Ly, CI], K[LKx, LKy, CI, CO]) -> (O) { O[n, x, y, co : N, Lx - 2 * (LKx "
       "- 1), Ly - 3 * (LKy - 1), CO] = +(I[n, x + 2 * kx, y + 3 * ky, ci] * K[kx, ky, ci, co]); }",
       {F32({1, 9, 10, 4}), F32({3, 2, 4, 8})}},
      {"FlippedConvolution",
       "function (D[N, CI], K[I, CI, CO]) -> (R) { R[n, co : N, CO] = +(D[n - i + 1, ci] * K[i, "
       "ci, "
       "co]); }",
       {F32({11, 5}), F32({3, 5, 8})}},
      {"TransposedConvolution",
       "function (DO[N, OH, OW, CO], K[KH, KW, CI, CO]) -> (DI) { DI[n, 3*y + 2*j, 3*x + 2*i, ci : "
       "N, 3*OH, 3*OW, CI] = +(DO[n, y, x, co] * K[j, i, ci, co]); }",
       {F32({1, 4, 3, 4}), F32({3, 2, 4, 4})}},
      {"DepthwiseConvolution",
       "function (D[N, Y, X, C], K[I, J, C]) -> (R) { R[n, y, x, c : N, Y, X, C] = +(D[n, y+i-1, "
       "x+j-1, c] * K[i, j, c]); }",
       {F32({1, 5, 6, 8}), F32({3, 3, 8})}},
      {"Products",  // edge tiles need checks
       "function (A[M, L], B[N]) -> (C) { C[i, j : M, N] = *(A[i + k - 1, j] + B[j]), k < 3; }",
       {F32({9, 8}), F32({8})}},
      {"MaximumOfSums",
       "function (A[M, L], B[L, N]) -> (C) { C[i, j : M, N] = >(A[i, k] + B[k, j]); }",
       {F32({9, 13}), F32({13, 12})}},
      {"MaxPool",
       "function (I[N, X, C]) -> (O) { O[n, x, c : N, (X + 1) / 2, C] = >(I[n, 2 * x + k - 1, c]), "
       "k < 3; }",
       {F32({2, 11, 8})}},
      {"MinimumOfIntegers",
       "function (I[M, N]) -> (O) { O[m : M] = <(I[m, n]); }",
       {{DataType::kInt32, {5, 131}}},
       -1000,
       1000},
      {"SumOfRows", "function (I[M, N]) -> (O) { O[m : M] = +(I[m, n]); }", {F32({3, 1031})}},
      {"SumOfAlignedRows",
       "function (I[M, N]) -> (O) { O[m : M] = +(I[m, n]); }",
       {F32({3, 1028})}},
      {"SumOfColumns", "function (I[M, N]) -> (O) { O[n : N] = +(I[m, n]); }", {F32({257, 12})}},
      {"SumOfAll", "function (I[M]) -> (O) { O[] = +(I[m]); }", {F32({1009})}},
      {"LongSum", "function (I[M]) -> (O) { O[] = +(I[m]); }", {F32({9001})}},
      {"LongSumsThenAdd",
       "function (I[M, N], B) -> (O) { S[m : M] = +(I[m, n] * I[m, n]); O = S + B; }",
       {F32({3, 5000}), F32({3})}},
      {"LongMaximum", "function (I[N, M]) -> (O) { O[m : M] = >(I[n, m]); }", {F32({4501, 4})}},
      {"LongMatMul",
       "function (A[M, L], B[L, N]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[k, j]); }",
       {F32({3, 4100}), F32({4100, 8})}},
      {"SumOfExponentials",
       "function (I[M, N]) -> (O) { E = exp(I); O[m : M] = +(E[m, n]); }",
       {F32({6, 77})}},
      {"Elementwise", "function (A, B) -> (O) { O = A * B + 1; }", {F32({5, 7, 3}), F32({7, 3})}},
      {"Transpose", "function (A[M, N]) -> (O) { O[n, m : N, M] = =(A[m, n]); }", {F32({37, 21})}},
      {"TransposeOfVectors",
       "function (A[M, N]) -> (O) { O[n, m : N, M] = =(A[m, n]); }",
       {F32({36, 20})}},
      {"TransposeThenAdd",
       "function (A[M, N], B) -> (O) { T[j, i : N, M] = =(A[i, j]); O = T + B; }",
       {F32({33, 18}), F32({18, 33})}},
      {"Concatenation",
       "function (A[M, N], B[M, P]) -> (O) { L[i, j : M, N + P] = =(A[i, j]); O[i, N + j : M, N + "
       "P] "
       "= =(B[i, j]) default L; }",
       {F32({13, 4}), F32({13, 5})}},
      {"MaximaOfRowsAtSumsOfPositions",
       "function (D, R, C) -> (O) { A = reshape(R, 3, 3, 1, 2, 1); B = reshape(C, 3, 1, 2, 1, 2); "
       "T = A >= 0 && B >= 0; I = (T ? A * 5 + B : 40); G = gather(D, I); E = (reshape(T, 3, 3, 2, "
       "2, 2, 1) ? G : -9); O[r, c, p, q : 3, 4, 3, 2] = >(E[r, p, q, a, b, c]); }",
       {F32({41, 4}), {DataType::kInt32, {3, 3, 2}}, {DataType::kInt32, {3, 2, 2}}},
       -1,
       4},
      {"Comparison", "function (A, B) -> (O) { O = A < B; }", {F32({9, 8}), F32({9, 8})}},
  };
}

class GroupKernelTest : public testing::TestWithParam<TestProgram> {
 protected:
  static constexpr int kCandidates = 24;

  // Uses the given candidate plan for every kernel. Returns false if there are fewer candidates.
  bool Check(int candidate, plan::Buffering buffering, bool wide) {
    const TestProgram& test = GetParam();
    const ir::Program program = BindTestProgram(test);
    const std::vector<HostTensor> inputs = RandomInputs(test, 3);
    const auto expected = ir::EvaluateNaively(program, inputs);
    EXPECT_TRUE(expected.ok()) << expected.status();
    compiler::CompileOptions options;
    options.settings = Gpu();
    options.force_64bit_indices = wide;
    bool found = candidate == 0;
    std::string plans;
    compiler::CompileHooks hooks;
    hooks.planner = [&](const poly::FlatContraction& flat, const plan::LaunchContext& launch) {
      auto planned = plan::PlanCandidates(flat, Gpu(), launch, kCandidates);
      found |= static_cast<int>(planned.size()) > candidate;
      plan::PlannedKernel kernel = planned[std::min<size_t>(candidate, planned.size() - 1)];
      if (auto* const groups = std::get_if<plan::GpuPlan>(&kernel.plan)) {
        // Some plans support only one buffering: asynchronous copies need more local memory.
        const plan::Buffering planned_so = std::exchange(groups->buffering, buffering);
        if (!plan::ReasonInvalid(kernel.flat, *groups, Gpu()).empty())
          groups->buffering = planned_so;
        EXPECT_EQ(plan::ReasonInvalid(kernel.flat, *groups, Gpu()), "");
      }
      absl::StrAppend(&plans, plan::ToString(kernel.plan, kernel.flat), "\n");
      return kernel;
    };
    const auto list = compiler::Compile(program, options, hooks);
    EXPECT_TRUE(list.ok()) << list.status();
    for (const loop::Kernel& kernel : list->kernels) {
      EXPECT_TRUE(loop::Verify(kernel).ok()) << loop::Verify(kernel) << plans;
    }
    const auto actual = compiler::InterpretList(*list, inputs);
    EXPECT_TRUE(actual.ok()) << actual.status() << "\n" << plans;
    if (!actual.ok()) return false;
    const bool half = test.inputs[0].type == DataType::kFloat16;
    EXPECT_EQ(FirstDifference((*actual)[0], (*expected)[0], half ? 1e-2 : 3e-5), "") << plans;
    return found;
  }
};

TEST_P(GroupKernelTest, EqualsTheNaiveEvaluatorForTheBestPlans) {
  for (int candidate = 0; candidate < kCandidates; ++candidate) {
    if (!Check(candidate, static_cast<plan::Buffering>(candidate % 3), false) || HasFailure())
      break;
  }
}

TEST(GpuPlans, SplitsLongReductionsIntoFewElements) {
  const TestProgram test = {
      "LongSum", "function (I[M]) -> (O) { O[] = +(I[m]); }", {F32({100000})}};
  compiler::CompileOptions options;
  options.settings = Gpu();
  const auto list = compiler::Compile(BindTestProgram(test), options);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->steps.size(), 2u);
}

// Weight gradients of convolutions: no reduced index is long, but their combination is.
TEST(GpuPlans, SplitsReductionsOfManyIndices) {
  for (const auto& [images, height, stride] :
       {std::tuple(16, 17, 1), std::tuple(3, 40, 2), std::tuple(5, 33, 2)}) {
    const TestProgram test = {
        "Weights",
        absl::StrCat("function (G[N, Y, X, O], D[N, C, P, Q]) -> (W) { W[o, c, i, j : O, C, 3, 3]"
                     " = +(G[n, y, x, o] * D[n, c, ",
                     stride, "*y + i - 1, ", stride, "*x + j - 1]); }"),
        {F32({images, height, height, 3}), F32({images, 1, height * stride, height * stride - 1})}};
    compiler::CompileOptions options;
    options.settings = Gpu();
    options.settings.compute_units = 64;
    const ir::Program program = BindTestProgram(test);
    const auto list = compiler::Compile(program, options);
    ASSERT_TRUE(list.ok()) << list.status();
    EXPECT_EQ(list->steps.size(), 2u) << images << " of " << height;
    // Sums of integers have no rounding error.
    std::vector<HostTensor> inputs;
    for (const TensorShape& shape : test.inputs) {
      std::vector<float> values(static_cast<size_t>(shape.element_count()));
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7 % 11) - 5;
      inputs.push_back(HostTensor::FromVector(shape, values));
    }
    const auto expected = ir::EvaluateNaively(program, inputs);
    ASSERT_TRUE(expected.ok()) << expected.status();
    const auto actual = compiler::InterpretList(*list, inputs);
    ASSERT_TRUE(actual.ok()) << actual.status();
    EXPECT_EQ(FirstDifference((*actual)[0], (*expected)[0], 0), "");
  }
}

// A step of eight values of each reduced index would exceed the local memory.
TEST(GpuPlans, FindsPlansWhereTheFirstGuessDoesNotFit) {
  HardwareSettings settings = Gpu();
  settings.threads = 256;
  settings.compute_units = 132;
  const TestProgram test = {
      "Weights",
      "function (G[N, Y, X, O], D[N, C, P, Q]) -> (W) { W[o, c, i, j : O, C, 7, 7] = "
      "+(G[n, y, x, o] * D[n, c, 2*y + i - 3, 2*x + j - 3]); }",
      {F32({16, 32, 32, 64}), F32({16, 3, 64, 64})}};
  compiler::CompileOptions options;
  options.settings = settings;
  int plans = 0;
  compiler::CompileHooks hooks;
  hooks.planner = [&](const poly::FlatContraction& flat, const plan::LaunchContext& launch) {
    const auto planned = plan::PlanCandidates(flat, settings, launch, 2);
    plans += std::holds_alternative<plan::GpuPlan>(planned[0].plan);
    return planned[0];
  };
  ASSERT_TRUE(compiler::Compile(BindTestProgram(test), options, hooks).ok());
  EXPECT_GE(plans, 1);
}

TEST_P(GroupKernelTest, EqualsTheNaiveEvaluatorWithWideIndices) {
  Check(0, plan::Buffering::kRegisters, true);
}

INSTANTIATE_TEST_SUITE_P(All, GroupKernelTest, testing::ValuesIn(Programs()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tartan::lower
