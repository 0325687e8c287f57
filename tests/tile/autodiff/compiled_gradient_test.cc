// SPDX-License-Identifier: Apache-2.0
// Compiled gradients agree with the naive evaluator.
#include <gtest/gtest.h>

#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/programs.h"
#include "tests/tile/testing.h"
#include "tile/autodiff/gradient.h"
#include "tile/compiler/compiler.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::autodiff {
namespace {

class CompiledGradient : public testing::TestWithParam<TestProgram> {
 protected:
  void Check(const GradientOptions& options) {
    const ir::Program program = BindTestProgram(GetParam());
    std::vector<int> wrt;
    for (size_t i = 0; i < GetParam().inputs.size(); ++i) {
      if (IsFloat(GetParam().inputs[i].type)) wrt.push_back(static_cast<int>(i));
    }
    const auto gradient = Gradient(program, wrt, options);
    ASSERT_TRUE(gradient.ok()) << gradient.status();
    const std::vector<HostTensor> inputs = RandomInputs(GetParam(), 1);
    const auto expected = ir::EvaluateNaively(*gradient, inputs);
    ASSERT_TRUE(expected.ok()) << expected.status();
    const auto list = compiler::Compile(*gradient, compiler::CompileOptions());
    ASSERT_TRUE(list.ok()) << list.status() << "\n" << ir::ToString(*gradient);
    const auto actual = compiler::InterpretList(*list, inputs);
    ASSERT_TRUE(actual.ok()) << actual.status() << "\n" << ir::ToString(*gradient);
    ASSERT_EQ(actual->size(), expected->size());
    for (size_t o = 0; o < actual->size(); ++o) {
      EXPECT_EQ(FirstDifference((*actual)[o], (*expected)[o], 1e-4), "")
          << "output " << o << " of\n"
          << ir::ToString(*gradient);
    }
  }
};

TEST_P(CompiledGradient, EqualsTheNaiveEvaluatorWithSharedTies) { Check({}); }

TEST_P(CompiledGradient, EqualsTheNaiveEvaluatorWhenTheFirstWins) {
  GradientOptions options;
  options.ties = Ties::kFirst;
  Check(options);
}

INSTANTIATE_TEST_SUITE_P(
    All, CompiledGradient,
    testing::Values(
        TestProgram{"StridedDilatedConvolution",
                    "function (I[N, H, W, CI], K[KH, KW, CI, CO]) -> (O) { O[n, y, x, co : N, H/3, "
                    "W/3, CO] = +(I[n, 3*y + 2*j, 3*x + 2*i, ci] * K[j, i, ci, co]); }",
                    {F32({2, 9, 9, 5}), F32({2, 2, 5, 7})}},
        TestProgram{"Softmax",
                    "function (X[M, N]) -> (O) { P[m, 0 : M, 1] = >(X[m, n]); E = exp(X - P); S[m, "
                    "0 : M, 1] = +(E[m, n]); O = E / S * E; }",
                    {F32({5, 11})}},
        TestProgram{"MaxPool",
                    "function (I[N, M, C]) -> (O) { O[i, j, c : (N + 1) / 2, M / 2, C] = "
                    ">(I[2*i + p, 2*j + q, c]), p < 3, q < 3; }",
                    {F32({9, 8, 3})}},
        TestProgram{"DenseLayer",
                    "function (A[M, L], B[L, N], C) -> (O) { P[i, j : M, N] = +(A[i, k] * B[k, "
                    "j]); S = P + C; O = (S > 0 ? S : 0); }",
                    {F32({4, 9}), F32({9, 10}), F32({10})}},
        TestProgram{"ProductOfSums",
                    "function (A[M, N], B[N]) -> (O) { O[i : M] = *(A[i, k] + B[k]), k < 4; }",
                    {F32({3, 5}), F32({5})}},
        TestProgram{
            "Defaults",
            "function (A[N], D) -> (O) { O[2*i : 7] = >(A[i + k] * A[k]), k < 2 default D; }",
            {F32({4}), F32({7})}},
        TestProgram{"FractionsInASum",
                    "function (A[N], B[M]) -> (O) { O[i : 3] = +(A[x / 3] + B[x + i]); }",
                    {F32({3}), F32({9})}},
        TestProgram{"FractionsInAMaximum",
                    "function (A[N], B[M]) -> (O) { O[i : 3] = >(A[x / 3] * B[x + i]); }",
                    {F32({3}), F32({9})}},
        TestProgram{"Scans",
                    "function (A[N, M]) -> (O) { O = cumsum(cumprod(A, 1), 0) * sort(A, 1); }",
                    {F32({3, 4})}},
        TestProgram{"Gathers",
                    "function (A[N, M], I) -> (O, P) { G = gather(A, I, 1); O = G * G; P = "
                    "scatter_elements(A, I, gather_elements(A, I, 0), 1, 0); }",
                    {F32({4, 4}), TensorShape{DataType::kInt64, {4, 4}}}}),
    [](const auto& info) { return info.param.name; });

// The gradient reads relu's result, so training stores one activation instead of two.
TEST(GradientOfRelu, ReadsTheResultAndNotTheOperand) {
  const TestProgram test{
      "Normalised", "function (A[N]) -> (O) { M = A * A - 1; O = relu(M); }", {F32({6})}};
  const auto gradient = Gradient(BindTestProgram(test), {0});
  ASSERT_TRUE(gradient.ok()) << gradient.status();
  int comparisons = 0;
  for (const ir::Value& value : gradient->values) {
    const auto* comparison = std::get_if<ir::Elementwise>(&value.op);
    if (comparison == nullptr || comparison->op != ScalarOp::kGreater) continue;
    ++comparisons;
    const auto* compared =
        std::get_if<ir::Elementwise>(&gradient->values[comparison->operands[0]].op);
    ASSERT_NE(compared, nullptr) << ir::ToString(*gradient);
    EXPECT_EQ(compared->op, ScalarOp::kRelu) << ir::ToString(*gradient);
  }
  EXPECT_EQ(comparisons, 1) << ir::ToString(*gradient);
}

TEST(GradientOfAGradient, CompilesToo) {
  const TestProgram test{
      "Cubes", "function (A[N]) -> (O) { P[i : N] = +(A[i] * A[k]); O = P * P * P; }", {F32({6})}};
  const auto first = Gradient(BindTestProgram(test), {0});
  ASSERT_TRUE(first.ok()) << first.status();
  GradientOptions options;
  options.outputs = {1};
  const auto second = Gradient(*first, {0}, options);
  ASSERT_TRUE(second.ok()) << second.status();
  const std::vector<HostTensor> inputs = RandomInputs(test, 1);
  const auto expected = ir::EvaluateNaively(*second, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const auto list = compiler::Compile(*second, compiler::CompileOptions());
  ASSERT_TRUE(list.ok()) << list.status();
  const auto actual = compiler::InterpretList(*list, inputs);
  ASSERT_TRUE(actual.ok()) << actual.status();
  EXPECT_EQ(FirstDifference(actual->at(2), expected->at(2), 1e-4), "");
}

}  // namespace
}  // namespace tartan::autodiff
