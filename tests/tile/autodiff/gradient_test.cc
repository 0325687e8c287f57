// SPDX-License-Identifier: Apache-2.0
#include "tile/autodiff/gradient.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/tile/autodiff/check_gradient.h"
#include "tile/autodiff/dependence.h"

namespace tartan::autodiff {
namespace {

using Values = std::vector<double>;

TEST(Gradient, IsZeroForAnInputThatDoesNotMatter) {
  const ir::Program program =
      BindCode("function (A, B) -> (O) { O = A * 2; }", {F64({2}), F64({2, 2})});
  const auto gradients =
      GradientsOf(program, {1, 0}, {Doubles({2}, {1, 2}), Doubles({2, 2}, {1, 2, 3, 4})});
  EXPECT_EQ(gradients.at(0).shape(), F64({2, 2}));
  EXPECT_EQ(gradients.at(0).ToDoubles(), (Values{0, 0, 0, 0}));
  EXPECT_EQ(gradients.at(1).ToDoubles(), (Values{2, 2}));
}

TEST(Gradient, CountsAnInputThatIsAnOutputAndOutputsThatRepeat) {
  ir::Program program = BindCode("function (A) -> (O) { O = A * A; }", {F64({2})});
  program.outputs = {program.inputs[0], program.outputs[0], program.outputs[0]};
  program.output_names = {"A", "O", "P"};
  EXPECT_EQ(GradientsOf(program, {0}, {Doubles({2}, {1, 3})}).at(0).ToDoubles(), (Values{5, 13}));
}

TEST(Gradient, TakesTheOutputsItIsAskedFor) {
  const ir::Program program =
      BindCode("function (A) -> (O, P) { O = A * A; P = 5 * A; }", {F64({1})});
  GradientOptions options;
  options.outputs = {1};
  EXPECT_EQ(GradientsOf(program, {0}, {Doubles({1}, {3})}, options).at(0).ToDoubles(), Values{5});
}

TEST(Gradient, StopsAtTheValuesItIsTold) {
  const ir::Program program = BindCode("function (A) -> (O) { B = A * A; O = B * A; }", {F64({1})});
  GradientOptions options;
  for (size_t i = 0; i < program.values.size(); ++i) {
    if (program.values[i].name == "B") options.stops = {static_cast<ir::ValueId>(i)};
  }
  ASSERT_EQ(options.stops.size(), 1u);
  EXPECT_EQ(GradientsOf(program, {0}, {Doubles({1}, {3})}, options).at(0).ToDoubles(), Values{9});
}

// Quantizes to int8 with scale 0.5 and zero point 3, and dequantizes.
constexpr char kQuantized[] =
    "function (A) -> (O) { Q = as_int(min(max(round(A / 0.5) + 3, -128), 127), 8);"
    " O = as_float(as_int(Q, 32) - 3, 64) * 0.5; }";

TEST(Gradient, PassesStraightThroughQuantizedNumbersWithinTheirRange) {
  const ir::Program program = BindCode(kQuantized, {F64({5})});
  const std::vector<HostTensor> inputs = {Doubles({5}, {0.2, -3, 61.9, 70, -80})};
  EXPECT_EQ(GradientsOf(program, {0}, inputs).at(0).ToDoubles(), (Values{0, 0, 0, 0, 0}));
  GradientOptions options;
  options.straight_through = true;
  EXPECT_EQ(GradientsOf(program, {0}, inputs, options).at(0).ToDoubles(), (Values{1, 1, 1, 0, 0}));
}

// The two orders of operands mean the same, as for torch.fake_quantize: their
// gradients are 1 at both ends.
TEST(Gradient, PassesStraightThroughTheEndsOfARangeInAnyOrder) {
  GradientOptions options;
  options.straight_through = true;
  for (const Ties ties : {Ties::kShare, Ties::kFirst}) {
    options.ties = ties;
    for (const char* formula : {"min(max(A, -1), 2)", "min(2, max(-1, A))", "max(-1, min(2, A))"}) {
      const ir::Program program =
          BindCode(absl::StrCat("function (A) -> (O) { O = ", formula, "; }"), {F64({5})});
      EXPECT_EQ(GradientsOf(program, {0}, {Doubles({5}, {-1.5, -1, 0, 2, 2.5})}, options)
                    .at(0)
                    .ToDoubles(),
                (Values{0, 1, 1, 1, 0}))
          << formula;
    }
  }
}

// torch.maximum and JAX share ties, too.
TEST(Gradient, SharesTiesOfTwoOperandsWithGradientsAlsoStraightThrough) {
  for (const char* function : {"max", "min"}) {
    const ir::Program program =
        BindCode(absl::StrCat("function (A, B) -> (O) { O = ", function, "(A, B) * 4; }"),
                 {F64({1}), F64({1})});
    for (const bool straight_through : {false, true}) {
      GradientOptions options;
      options.straight_through = straight_through;
      const std::vector<HostTensor> tied = {Doubles({1}, {3}), Doubles({1}, {3})};
      const auto shared = GradientsOf(program, {0, 1}, tied, options);
      EXPECT_EQ(shared.at(0).ToDoubles(), Values{2}) << function << straight_through;
      EXPECT_EQ(shared.at(1).ToDoubles(), Values{2}) << function << straight_through;
      options.ties = Ties::kFirst;
      const auto first = GradientsOf(program, {0, 1}, tied, options);
      EXPECT_EQ(first.at(0).ToDoubles(), Values{4}) << function << straight_through;
      EXPECT_EQ(first.at(1).ToDoubles(), Values{0}) << function << straight_through;
    }
  }
}

TEST(Gradient, PassesStraightThroughProductsOfIntegers) {
  const ir::Program program = BindCode(
      "function (A, W) -> (O) { Q = as_int(as_int(round(A), 8), 32);"
      " V = as_int(W, 32); C[i : 2] = +(Q[k] * V[i, k]); O = as_float(C, 64) * 0.25; }",
      {F64({2}), I64({2, 2})});
  GradientOptions options;
  options.straight_through = true;
  const std::vector<HostTensor> inputs = {
      Doubles({2}, {1.4, -2.6}), HostTensor::FromVector<int64_t>(I64({2, 2}), {1, 2, 3, -5})};
  EXPECT_EQ(GradientsOf(program, {0}, inputs, options).at(0).ToDoubles(), (Values{1, -0.75}));
}

TEST(Gradient, PassesStraightThroughIntegersThatAreInputsAndOutputs) {
  const ir::Program program =
      BindCode("function (A) -> (O) { B = max(A, 2); O = B * 3; }", {I64({3})});
  GradientOptions options;
  options.straight_through = true;
  const auto gradients =
      GradientsOf(program, {0}, {HostTensor::FromVector<int64_t>(I64({3}), {1, 2, 5})}, options);
  EXPECT_EQ(gradients.at(0).shape().type, DataType::kFloat32);
  EXPECT_EQ(gradients.at(0).ToDoubles(), (Values{0, 3, 3}));
}

TEST(Gradient, IsKnownToExistWhereAFunctionIsNotConstantBetweenSteps) {
  const auto exists = [](absl::string_view formula) -> bool {
    return FindDerivatives(
               BindCode(absl::StrCat("function (A) -> (O) { O = ", formula, "; }"), {F64({2})}))
        .at(0)
        .at(0);
  };
  for (const char* constant : {"round", "floor", "ceil", "trunc", "sign"})
    EXPECT_FALSE(exists(absl::StrCat(constant, "(A)"))) << constant;
  EXPECT_TRUE(exists("round(A) + A"));
  EXPECT_TRUE(exists("A > 0 ? A : 0"));
  EXPECT_FALSE(exists("A > 0"));
  EXPECT_FALSE(exists("as_float(as_int(A, 32), 64)"));
}

TEST(Gradient, NamesItsOutputsAndSeeds) {
  const ir::Program program =
      BindCode("function (A) -> (O, C) { O = A * A; C = A > 0; }", {F64({2})});
  GradientOptions options;
  options.seeded = true;
  const auto gradient = Gradient(program, {0}, options);
  ASSERT_TRUE(gradient.ok()) << gradient.status();
  EXPECT_EQ(gradient->output_names, (std::vector<std::string>{"O", "C", "A_grad"}));
  ASSERT_EQ(gradient->inputs.size(), 2u);
  EXPECT_EQ(gradient->values[gradient->inputs[1]].name, "O_seed");
}

TEST(Gradient, GivesBoolOutputsNoSeedAlsoStraightThrough) {
  const ir::Program program = BindCode(
      "function (A) -> (O, C, I) { O = A * A; C = A > 0; I = as_int(A, 32) * 3; }", {F64({2})});
  GradientOptions options;
  options.seeded = true;
  options.straight_through = true;
  const auto gradient = Gradient(program, {0}, options);
  ASSERT_TRUE(gradient.ok()) << gradient.status();
  std::vector<std::string> inputs;
  for (const ir::ValueId input : gradient->inputs) inputs.push_back(gradient->values[input].name);
  EXPECT_EQ(inputs, (std::vector<std::string>{"A", "O_seed", "I_seed"}));
  options.seeded = false;
  EXPECT_EQ(GradientsOf(program, {0}, {Doubles({2}, {1, -2})}, options).at(0).ToDoubles(),
            (Values{5, -1}));
}

TEST(Gradient, KeepsTheTypesOfItsInputs) {
  const TensorShape half{DataType::kFloat16, {3}};
  const TensorShape single{DataType::kFloat32, {4, 3}};
  const ir::Program program = BindCode(
      "function (A, B[M, N]) -> (O) { P[i : M] = +(A[j] * B[i, j]); O = P * P; }", {half, single});
  const auto gradient = Gradient(program, {0, 1});
  ASSERT_TRUE(gradient.ok()) << gradient.status();
  EXPECT_EQ(gradient->values[gradient->outputs[1]].shape, half);
  EXPECT_EQ(gradient->values[gradient->outputs[2]].shape, single);
}

TEST(Gradient, OfIntegersIsAnErrorThatNamesTheInput) {
  const ir::Program program =
      BindCode("function (A, N) -> (O) { O = A * N; }", {F64({2}), I64({2})});
  const auto gradient = Gradient(program, {1});
  EXPECT_EQ(gradient.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(gradient.status().message().find("input 1 (N)"), std::string::npos);
  EXPECT_EQ(Gradient(program, {2}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Gradient, OfEmptyTensorsHasTheirShapes) {
  for (const char* code : {"function (A, B, I) -> (O) { O[] = +(A[i] * B[j]); }",
                           "function (A, B, I) -> (O) { O[j : 3] = >(A[i] * B[j]); }",
                           "function (A, B, I) -> (O) { O[j : 3] = *(A[i]), i + j < 9 default B; }",
                           "function (A, B, I) -> (O) { O = gather(B, I); }",
                           "function (A, B, I) -> (O) { O = scatter_elements(B, I, A, 0, 4); }",
                           "function (A, B, I) -> (O) { O = cumprod(A, 0) * sort(A, 0); }"}) {
    const ir::Program program = BindCode(code, {F64({0}), F64({3}), I64({0})});
    const std::vector<HostTensor> inputs = {HostTensor::Zeros(F64({0})), Doubles({3}, {1, 2, 3}),
                                            HostTensor::Zeros(I64({0}))};
    const auto gradients = GradientsOf(program, {0, 1}, inputs);
    ASSERT_EQ(gradients.size(), 2u) << code;
    EXPECT_EQ(gradients[0].shape(), F64({0})) << code;
    EXPECT_EQ(gradients[1].shape(), F64({3})) << code;
  }
}

// Compares the gradient of the gradient's sum with central differences of the gradient.
class SecondGradient : public testing::TestWithParam<GradientCase> {};

TEST_P(SecondGradient, EqualsCentralDifferencesOfTheFirst) {
  const ir::Program program = BindCode(GetParam().code, GetParam().inputs);
  const auto gradient = Gradient(program, {0});
  ASSERT_TRUE(gradient.ok()) << gradient.status();
  const Comparison result = CompareWithDifferences(*gradient, DrawInputs(GetParam(), 3));
  EXPECT_EQ(result.difference, "");
  EXPECT_GT(result.compared, 0);
  EXPECT_LE(result.skipped * 10, result.compared);
}

INSTANTIATE_TEST_SUITE_P(
    All, SecondGradient,
    testing::Values(
        GradientCase{"Cubes", "function (A) -> (O) { O = A * A * A; }", {F64({4})}},
        GradientCase{
            "Power", "function (A, B) -> (O) { O = pow(A, B); }", {F64({4}), F64({4})}, 0.5, 2},
        GradientCase{
            "Functions", "function (A) -> (O) { O = tanh(A) * exp(A) / (1 + A * A); }", {F64({5})}},
        GradientCase{"Convolution",
                     "function (I[N], K[M]) -> (O) { P[x : N / 2] = +(I[2*x + k] * K[k]); O = P * "
                     "P * P; }",
                     {F64({7}), F64({3})}},
        GradientCase{"Softmax",
                     "function (X[N]) -> (O) { P[] = >(X[n]); E = exp(X - P); S[] = +(E[n]); Q = E "
                     "/ S; O = Q * Q; }",
                     {F64({4})}},
        GradientCase{
            "Product", "function (A[M, N]) -> (O) { O[m : M] = *(A[m, n]); }", {F64({2, 3})}},
        GradientCase{"MaxPool",
                     "function (A[N]) -> (O) { P[i : 5] = >(A[2*i + j]), j < 2; O = P * P; }",
                     {F64({6})}},
        GradientCase{"SortAndScan",
                     "function (A[N]) -> (O) { S = sort(A, 0); P = cumprod(S, 0); O "
                     "= cumsum(P * P, 0); }",
                     {F64({4})}},
        GradientCase{"Gather",
                     "function (A, I) -> (O) { G = gather(A, I); O = G * G * G; }",
                     {F64({4}), I64({5})}},
        GradientCase{
            "Scatter",
            "function (A, I, U) -> (O) { S = scatter_elements(A, I, U, 0, 2); O = S * S; }",
            {F64({4}), I64({5}), F64({5})}}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tartan::autodiff
