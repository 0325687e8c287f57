// SPDX-License-Identifier: Apache-2.0
// Tests of stop_gradient and of gradients that the user defines.
#include <gtest/gtest.h>

#include "tests/tile/autodiff/check_gradient.h"
#include "tile/autodiff/dependence.h"
#include "tile/ir/program_builder.h"

namespace tartan::autodiff {
namespace {

using Values = std::vector<double>;

// Returns the derivative of the outputs' sum with respect to the first input, at these input
// values.
Values GradientAt(const std::string& code, const std::vector<Values>& inputs, int order = 1) {
  std::vector<TensorShape> shapes;
  std::vector<HostTensor> tensors;
  for (const Values& values : inputs) {
    shapes.push_back(F64({static_cast<int64_t>(values.size())}));
    tensors.push_back(Doubles(shapes.back().dims, values));
  }
  ir::Program program = BindCode(code, shapes);
  for (int i = 1; i < order; ++i) {
    absl::StatusOr<ir::Program> gradient = Gradient(program, {0});
    EXPECT_TRUE(gradient.ok()) << gradient.status();
    program = *std::move(gradient);
    program.outputs = {program.outputs.back()};
    program.output_names = {program.output_names.back()};
  }
  return GradientsOf(program, {0}, tensors).at(0).ToDoubles();
}

TEST(StopGradient, LeavesTheValueAndStopsTheDerivative) {
  EXPECT_EQ(GradientAt("function (A) -> (O) { B = stop_gradient(A * A); O = B * A; }", {{3, 5}}),
            (Values{9, 25}));
  EXPECT_EQ(GradientAt("function (A) -> (O) { O = stop_gradient(A) * A; }", {{3, 5}}),
            (Values{3, 5}));
  EXPECT_EQ(GradientAt("function (A) -> (O) { O = stop_gradient(A); }", {{3, 5}}), (Values{0, 0}));
}

TEST(StopGradient, HoldsInGradientsOfGradients) {
  // The second derivatives of A³, stop(A)² * A and stop(A) * A² are 6 A, 0 and 2 A.
  EXPECT_EQ(GradientAt("function (A) -> (O) { O = A * A * A; }", {{3}}, 2), Values{18});
  EXPECT_EQ(GradientAt("function (A) -> (O) { S = stop_gradient(A); O = S * S * A; }", {{3}}, 2),
            Values{0});
  EXPECT_EQ(GradientAt("function (A) -> (O) { O = stop_gradient(A) * A * A; }", {{3}}, 2),
            Values{6});
}

constexpr char kStraight[] =
    "function (A) -> (O) { R = custom_gradient(round(A), straight, A); O = R * R; }"
    "function straight (X, Y, DY) -> (DX) { DX = DY; }";

TEST(CustomGradient, TakesThePlaceOfTheOperations) {
  EXPECT_EQ(GradientAt(kStraight, {{1.2, -2.9}}), (Values{2, -6}));
}

TEST(CustomGradient, SeesTheInputsTheResultAndTheDerivative) {
  EXPECT_EQ(GradientAt("function (A, B) -> (O) { O = 5 * custom_gradient(A * B, rule, A, B); }"
                       "function rule (X, Y, Z, DZ) -> (DX, DY) { DX = X + 10 * Y + 100 * Z + 1000 "
                       "* DZ; DY = DX; }",
                       {{2}, {3}}),
            Values{2 + 30 + 600 + 5000});
}

TEST(CustomGradient, OfATensorBroadcastOrReadTwiceIsSummed) {
  EXPECT_EQ(GradientAt("function (A, B) -> (O) { C = custom_gradient(A, twice, A); O[i : 3] = "
                       "+(B[i] * C[j]); }"
                       "function twice (X, Y, DY) -> (DX) { DX = 2 * DY; }",
                       {{1, 1}, {1, 2, 3}}),
            (Values{12, 12}));
}

// Compares the importer's gradient rules of softmax and log-softmax with the gradients of their
// formulas. The gradient with respect to the subtracted maximum cancels out.
TEST(CustomGradient, OfSoftmaxAgreesWithItsFormulaInEveryOrder) {
  const std::string begin =
      "function (X, W) -> (O) { M[0 : 1] = >(X[i]); D = X - M; E = exp(D); S[0 : 1] = +(E[i]); ";
  const std::string end = "; O = W * Y * Y; }";
  const std::vector<Values> at = {{0.3, -1.1, 2.0, 1.9}, {1, -2, 0.5, 3}};
  for (const auto& [value, rule] : std::vector<std::pair<std::string, std::string>>{
           {"E / S", "G = DY * Y; T[0 : 1] = +(G[i]); DX = Y * (DY - T);"},
           {"D - log(S)", "T[0 : 1] = +(DY[i]); DX = DY - exp(Y) * T;"}}) {
    const std::string plain = begin + "Y = " + value + end;
    const std::string ruled = begin + "Y = custom_gradient(" + value + ", rule, X)" + end +
                              " function rule (X, Y, DY) -> (DX) { " + rule + " }";
    for (int order : {1, 2, 3}) {
      const Values expected = GradientAt(plain, at, order);
      const Values actual = GradientAt(ruled, at, order);
      for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(actual[i], expected[i], 1e-12) << value << ", order " << order;
      }
    }
  }
}

TEST(CustomGradient, OfTheLastTensorsMayBeLeftOut) {
  // B is only an input of the rule.
  const std::string code =
      "function (A, B) -> (O) { O = custom_gradient(A * B, rule, A, B); }"
      "function rule (X, Y, Z, DZ) -> (DX) { DX = 10 * Y * DZ; }";
  EXPECT_EQ(GradientAt(code, {{2}, {3}}), Values{30});
  const ir::Program program = BindCode(code, {F64({1}), F64({1})});
  const auto gradients = GradientsOf(program, {0, 1}, {Doubles({1}, {2}), Doubles({1}, {3})});
  EXPECT_EQ(gradients.at(1).ToDoubles(), Values{0});
}

// The same for the importer's rule of values that are standardized by their own statistics. The
// statistics are inputs of the rule without a derivative there, but depend on X in the next order.
TEST(CustomGradient, OfStandardizedValuesAgreesWithTheFormulaInEveryOrder) {
  const std::string begin =
      "function (X, W) -> (O) { SUM[0 : 1] = +(X[i]); MEAN = SUM / 4; C = X - MEAN; Q = C * C; "
      "V[0 : 1] = +(Q[i]); INV = 1 / sqrt(V / 4 + 0.01); Y = ";
  const std::string end = "; O = W * Y * Y * Y; }";
  const std::string rule =
      " function rule (X, MEAN, INV, Y, DY) -> (DX) { P = DY * ((X - MEAN) * INV); "
      "PSUM[0 : 1] = +(P[i]); DYSUM[0 : 1] = +(DY[i]); SLOPE = PSUM * INV / 4; SHIFT = DYSUM / 4; "
      "DX = (DY - SHIFT - (X - MEAN) * SLOPE) * INV; }";
  const std::vector<Values> at = {{0.3, -1.1, 2.0, 1.9}, {1, -2, 0.5, 3}};
  for (int order : {1, 2, 3}) {
    const Values expected = GradientAt(begin + "C * INV" + end, at, order);
    const Values actual =
        GradientAt(begin + "custom_gradient(C * INV, rule, X, MEAN, INV)" + end + rule, at, order);
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(actual[i], expected[i], 1e-11) << "order " << order;
    }
  }
}

TEST(CustomGradient, HasGradientsOfItsOwn) {
  // The custom rule gives the derivative 3 X², so the second derivative is 6 X for any value of the
  // function.
  const std::string code =
      "function (A) -> (O) { O = custom_gradient(floor(A), cube, A); }"
      "function cube (X, Y, DY) -> (DX) { DX = 3 * X * X * DY; }";
  EXPECT_EQ(GradientAt(code, {{2, 3}}), (Values{12, 27}));
  EXPECT_EQ(GradientAt(code, {{2, 3}}, 2), (Values{12, 18}));
  EXPECT_EQ(GradientAt(code, {{2, 3}}, 3), (Values{6, 6}));
}

TEST(CustomGradient, OfTheResultGoesBackToTheRule) {
  // The rule of exp uses its result, so every derivative equals the result.
  const std::string code =
      "function (A) -> (O) { O = custom_gradient(exp(A), same, A); }"
      "function same (X, Y, DY) -> (DX) { DX = Y * DY; }";
  const double e2 = std::exp(2.0);
  for (const int order : {1, 2, 3}) EXPECT_EQ(GradientAt(code, {{2}}, order), Values{e2});
}

TEST(CustomGradient, MayUseOtherRulesAndSizes) {
  EXPECT_EQ(GradientAt("function (A) -> (O) { O = custom_gradient(A, outer, A); }"
                       "function outer (X[N], Y, DY) -> (DX) { DX = custom_gradient(N * DY, inner, "
                       "X); }"
                       "function inner (X, Y, DY) -> (DX) { DX = 7 * DY; }",
                       {{1, 2, 3}}, 2),
            (Values{7, 7, 7}));
}

TEST(CustomGradient, HandsIntegersToTheRuleOnly) {
  const ir::Program program = BindCode(
      "function (A, I) -> (O) { O = custom_gradient(A, scaled, I, A); }"
      "function scaled (I, X, Y, DY) -> (DX) { DX = I * DY; }",
      {F64({2}), I64({2})});
  const auto gradients = GradientsOf(
      program, {0}, {Doubles({2}, {1, 2}), HostTensor::FromVector<int64_t>(I64({2}), {4, 5})});
  EXPECT_EQ(gradients.at(0).ToDoubles(), (Values{4, 5}));
}

TEST(CustomGradient, HasDerivativesByWhatTheRuleHasOutputsFor) {
  const ir::Program program = BindCode(
      "function (V, I, X, M) -> (O) { O = custom_gradient(V, rule, I, X, M); }"
      "function rule (I, X, M, Y, DY) -> (DX) { DX = (X - M) * DY; }",
      {F64({2}), I64({2}), F64({2}), F64({2})});
  using Row = std::vector<bool>;
  EXPECT_EQ(FindDerivatives(program, {}), (std::vector<Row>{{false}, {false}, {true}, {false}}));
}

TEST(CustomGradient, IsAttachedByABuilder) {
  ir::ProgramBuilder builder;
  const ir::ValueId x = builder.AddInput("X", F64({2})).value();
  const ir::ValueId sign = builder.AddElementwise(ScalarOp::kSign, {x}).value();
  const ir::Program rule =
      BindCode("function (X, Y, DY) -> (DX) { DX = X * DY; }", {F64({2}), F64({2}), F64({2})});
  const absl::StatusOr<ir::ValueId> y = builder.AddCustomGradient(sign, {x}, rule, "Y");
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_FALSE(builder.AddCustomGradient(sign, {x, x}, rule).ok());
  builder.AddOutput(*y, "Y");
  const ir::Program program = std::move(builder).Build().value();
  EXPECT_EQ(GradientsOf(program, {0}, {Doubles({2}, {3, -4})}).at(0).ToDoubles(), (Values{3, -4}));
}

TEST(CustomGradient, IsGoneFromWhatIsCompiled) {
  const ir::Program program = ir::WithoutCustomGradients(BindCode(kStraight, {F64({2})}));
  for (const ir::Value& value : program.values) {
    EXPECT_FALSE(std::holds_alternative<ir::Special>(value.op)) << value.name;
  }
  const ir::Program stopped = ir::WithoutCustomGradients(
      BindCode("function (A) -> (O) { O = stop_gradient(A); }", {F64({2})}));
  EXPECT_EQ(stopped.values.size(), 1u);
  EXPECT_EQ(stopped.outputs, stopped.inputs);
}

}  // namespace
}  // namespace tartan::autodiff
