// SPDX-License-Identifier: Apache-2.0
// Tests of gradients of lazy tensors and functions, evaluated by the naive evaluator.
#include "frontend/api/gradient.h"

#include <cmath>

#include "frontend/api/composer.h"
#include "frontend/api/function.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tartan::api::gradient_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::string_view kMatMul =
    "function (A[M, L], B[L, N]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[k, j]); }";
constexpr absl::string_view kSum = "function (A[M, N]) -> (S) { S[] = +(A[i, j]); }";

Tensor Input(std::string name, std::vector<int64_t> dims, DataType type = DataType::kFloat64) {
  return Tensor::Placeholder(std::move(name), {type, std::move(dims)});
}

HostTensor Doubles(std::vector<int64_t> dims, const std::vector<double>& values) {
  return HostTensor::FromVector<double>({DataType::kFloat64, std::move(dims)}, values);
}

Tensor Call(absl::string_view text, absl::Span<const Tensor> inputs, absl::string_view name = "") {
  auto result = Apply(text, inputs, name);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : Tensor();
}

std::vector<Tensor> GradientOf(const Tensor& loss, const std::vector<Tensor>& wrt,
                               const GradientOptions& options = {}) {
  auto gradients = Gradient(loss, wrt, options);
  EXPECT_TRUE(gradients.ok()) << gradients.status();
  return gradients.ok() ? *gradients : std::vector<Tensor>(wrt.size());
}

std::vector<double> Value(const Tensor& tensor, const std::vector<Tensor>& placeholders,
                          const std::vector<HostTensor>& values) {
  const auto results = EvaluateReference(placeholders, values, {&tensor, 1}, 1 << 20);
  EXPECT_TRUE(results.ok()) << results.status();
  return results.ok() ? (*results)[0].ToDoubles() : std::vector<double>();
}

GradientPath PathOf(const Tensor& output, const Tensor& wrt) {
  const auto paths = FindGradientPaths({output}, {wrt});
  EXPECT_TRUE(paths.ok()) << paths.status();
  return paths.ok() ? paths->at(0) : GradientPath();
}

TEST(GradientPaths, EndAtWhatIsConstantBetweenSteps) {
  const Tensor a = Input("a", {3});
  const Tensor b = Input("b", {3});
  const Tensor scaled = Call("function (X) -> (Y) { Y = X * 2; }", {a}, "scale");
  const Tensor whole = Call("function (X) -> (Y) { Y = as_int(X, 32); }", {scaled}, "whole");
  const Tensor both = Call("function (X, Z) -> (Y) { Y = X * Z; }", {whole, b}, "both");
  const GradientPath ended = PathOf(both, a);
  EXPECT_TRUE(ended.depends);
  EXPECT_FALSE(ended.exists);
  EXPECT_THAT(ended.ends, ElementsAre("whole"));
  EXPECT_TRUE(PathOf(both, b).exists);
  EXPECT_FALSE(PathOf(whole, b).depends);
  GradientOptions options;
  options.straight_through = true;
  const auto through = FindGradientPaths({both}, {a}, options);
  ASSERT_TRUE(through.ok()) << through.status();
  EXPECT_TRUE(through->at(0).exists);
}

TEST(GradientPaths, OnesThatEndDoNotMatterBesideOneThatGoesOn) {
  const Tensor a = Input("a", {3});
  const Tensor step = Call("function (X) -> (Y) { Y = floor(X); }", {a}, "step");
  const GradientPath path =
      PathOf(Call("function (X, Z) -> (Y) { Y = X + Z; }", {step, a}, "sum"), a);
  EXPECT_TRUE(path.exists);
  EXPECT_THAT(path.ends, ElementsAre("step"));
}

TEST(Gradient, PassesStraightThroughIntegersFromFunctionToFunction) {
  const Tensor a = Input("a", {3});
  const Tensor whole = Call("function (X) -> (Y) { Y = as_int(round(X), 8); }", {a}, "whole");
  const Tensor wide = Call("function (X) -> (Y) { Y = as_float(X, 64) * 4; }", {whole}, "wide");
  const Tensor loss = Call("function (X) -> (S) { S[] = +(X[i]); }", {wide});
  const std::vector<HostTensor> values = {Doubles({3}, {0.3, -1.2, 7})};
  EXPECT_THAT(Value(GradientOf(loss, {a})[0], {a}, values), ElementsAre(0, 0, 0));
  GradientOptions options;
  options.straight_through = true;
  EXPECT_THAT(Value(GradientOf(loss, {a}, options)[0], {a}, values), ElementsAre(4, 4, 4));
}

TEST(Gradient, FollowsAChainOfApplications) {
  const Tensor a = Input("a", {2, 3});
  const Tensor b = Input("b", {3, 2});
  const Tensor loss = Call(kSum, {Call("function (X) -> (Y) { Y = X * X; }",
                                       {Call(kMatMul, {a, b}, "product")}, "square")});
  const std::vector<Tensor> gradients = GradientOf(loss, {a, b});
  EXPECT_EQ(gradients[0].shape(), a.shape());
  EXPECT_EQ(gradients[1].shape(), b.shape());
  const std::vector<HostTensor> values = {Doubles({2, 3}, {1, 2, 3, 4, 5, 6}),
                                          Doubles({3, 2}, {1, 0, 0, 1, 1, 1})};
  // C = A B = [4 5; 10 11]; dC = 2 C; dA = dC B', dB = A' dC.
  EXPECT_THAT(Value(gradients[0], {a, b}, values), ElementsAre(8, 10, 18, 20, 22, 42));
  EXPECT_THAT(Value(gradients[1], {a, b}, values), ElementsAre(88, 98, 116, 130, 144, 162));
}

TEST(Gradient, IsZeroByWhatTheLossDoesNotDependOn) {
  const Tensor a = Input("a", {2, 2});
  const Tensor other = Input("other", {3}, DataType::kFloat32);
  const std::vector<Tensor> gradients = GradientOf(Call(kSum, {a}), {other});
  EXPECT_EQ(gradients[0].shape().ToString(), "float32[3]");
  EXPECT_THAT(Value(gradients[0], {}, {}), ElementsAre(0, 0, 0));
}

TEST(Gradient, OfATensorByItselfIsOne) {
  const Tensor x = Input("x", {});
  EXPECT_THAT(Value(GradientOf(x, {x})[0], {}, {}), ElementsAre(1));
}

TEST(Gradient, CountsAllPathsAlsoThroughOthersItIsAskedFor) {
  const Tensor x = Input("x", {});
  const Tensor y = Call("function (X) -> (Y) { Y = X * X; }", {x});
  const Tensor loss = Call("function (X, Y) -> (L) { L = X * Y; }", {x, y});  // x³
  const std::vector<Tensor> gradients = GradientOf(loss, {x, y});
  EXPECT_THAT(Value(gradients[0], {x}, {Doubles({}, {3})}), ElementsAre(27));
  EXPECT_THAT(Value(gradients[1], {x}, {Doubles({}, {3})}), ElementsAre(3));
}

TEST(Gradient, MayBeDifferentiatedAgain) {
  const Tensor x = Input("x", {});
  const Tensor loss = Call("function (X) -> (Y) { Y = X * X * X * X; }", {x});
  const Tensor first = GradientOf(loss, {x})[0];
  const Tensor second = GradientOf(first, {x})[0];
  const Tensor third = GradientOf(second, {x})[0];
  const std::vector<HostTensor> value = {Doubles({}, {2})};
  EXPECT_THAT(Value(first, {x}, value), ElementsAre(32));
  EXPECT_THAT(Value(second, {x}, value), ElementsAre(48));
  EXPECT_THAT(Value(third, {x}, value), ElementsAre(48));
}

TEST(Gradient, MayBeComposedOn) {
  const Tensor w = Input("w", {2, 2});
  const Tensor gradient =
      GradientOf(Call(kSum, {Call("function (X) -> (Y) { Y = X * X; }", {w})}), {w})[0];
  const Tensor updated =
      Call("function (W, G) -> (N) { N = W - as_float(0.25, 64) * G; }", {w, gradient});
  EXPECT_THAT(Value(updated, {w}, {Doubles({2, 2}, {2, 4, 6, 8})}), ElementsAre(1, 2, 3, 4));
}

TEST(Gradient, IsTakenByConstants) {
  const Tensor w = Tensor::Constant(Doubles({2, 2}, {1, 2, 3, 4}), "w");
  const Tensor loss = Call(kSum, {Call("function (X) -> (Y) { Y = exp(X); }", {w})});
  const Tensor gradient = GradientOf(loss, {w})[0];
  EXPECT_THAT(Value(gradient, {}, {}),
              ElementsAre(std::exp(1), std::exp(2), std::exp(3), std::exp(4)));
}

TEST(Gradient, ReadsWhatTheForwardPassComputed) {
  const Tensor x = Input("x", {4});
  const Tensor y = Call("function (X) -> (Y) { Y = exp(X); }", {x}, "y");
  const Tensor loss = Call("function (Y[N]) -> (L) { L[] = +(Y[i]); }", {y}, "loss");
  const Tensor gradient = GradientOf(loss, {x})[0];
  const auto composed = Compose({x}, std::vector<Tensor>{loss, gradient});
  ASSERT_TRUE(composed.ok()) << composed.status();
  const std::string& code = composed->program.code();
  const size_t first = code.find("exp(");
  ASSERT_NE(first, std::string::npos) << code;
  EXPECT_EQ(code.find("exp(", first + 1), std::string::npos) << code;
}

TEST(Gradient, OfSeveralOutputsUsesOnlyThoseThatMatter) {
  const Tensor x = Input("x", {3});
  const Function function = Function::FromTile(
                                "function (X[N]) -> (Squares, Signs, Total) {"
                                "  Squares = X * X; Signs = X < 0; Total[] = +(X[i]); }")
                                .value();
  const std::vector<Tensor> results = function.Apply({x}).value();
  EXPECT_THAT(Value(GradientOf(results[2], {x})[0], {x}, {Doubles({3}, {1, 2, 3})}),
              ElementsAre(1, 1, 1));
  const Tensor seed = Input("seed", {3});
  const auto seeded = Gradient(std::vector<SeededTensor>{{results[0], seed}, {results[2], {}}},
                               std::vector<Tensor>{x});
  ASSERT_TRUE(seeded.ok()) << seeded.status();
  EXPECT_THAT(Value((*seeded)[0], {x, seed}, {Doubles({3}, {1, 2, 3}), Doubles({3}, {1, 0, 10})}),
              ElementsAre(3, 1, 61));
}

// Derivatives of a function are kept for its other applications.
TEST(Gradient, DistinguishesInputsOutputsAndShapesOfAFunction) {
  constexpr absl::string_view kTwo = "function (X, Y) -> (P, Q) { P = X * Y; Q = X * X * Y; }";
  const auto slope = [&](std::vector<int64_t> dims, int input, int output) {
    const std::vector<Tensor> inputs = {Input("x", dims), Input("y", dims)};
    const auto function = Function::FromTile(kTwo);
    const auto results = function->Apply(inputs);
    const Tensor loss = Call(dims.size() == 1 ? "function (A[N]) -> (S) { S[] = +(A[i]); }" : kSum,
                             {results->at(output)});
    const std::vector<double> values(dims.size() == 1 ? 2 : 4, 3);
    const std::vector<HostTensor> given = {Doubles(dims, values),
                                           Doubles(dims, std::vector<double>(values.size(), 5))};
    const std::vector<double> found = Value(GradientOf(loss, {inputs[input]})[0], inputs, given);
    EXPECT_EQ(found.size(), values.size());
    return found.empty() ? 0 : found.back();
  };
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{2}, {2, 2}}) {
    EXPECT_EQ(slope(dims, 0, 0), 5);
    EXPECT_EQ(slope(dims, 1, 0), 3);
    EXPECT_EQ(slope(dims, 0, 1), 30);
    EXPECT_EQ(slope(dims, 1, 1), 9);
  }
}

TEST(Gradient, SharesOrGivesTiesAsAsked) {
  const Tensor x = Input("x", {3});
  const Tensor loss = Call("function (X[N]) -> (M) { M[] = >(X[i]); }", {x});
  const std::vector<HostTensor> value = {Doubles({3}, {7, 1, 7})};
  EXPECT_THAT(Value(GradientOf(loss, {x})[0], {x}, value), ElementsAre(0.5, 0, 0.5));
  EXPECT_THAT(Value(GradientOf(loss, {x}, {Ties::kFirst})[0], {x}, value), ElementsAre(1, 0, 0));
}

TEST(Gradient, GoesThroughLongChains) {
  const Tensor x = Input("x", {});
  Tensor y = x;
  for (int i = 0; i < 2000; ++i) y = Call("function (X) -> (Y) { Y = X + X * 0.001; }", {y});
  EXPECT_NEAR(Value(GradientOf(y, {x})[0], {x}, {Doubles({}, {1})})[0], std::pow(1.001, 2000),
              1e-3);
}

TEST(Gradient, PassesThroughFloatsOnly) {
  const Tensor x = Input("x", {2});
  const Tensor i = Input("i", {2}, DataType::kInt32);
  const Tensor loss = Call("function (X[N], I[N]) -> (L) { L[] = +(X[i] * I[i]); }",
                           {x, Call("function (A) -> (B) { B = A + 1; }", {i})});
  const Tensor gradient = GradientOf(loss, {x})[0];
  const HostTensor whole = HostTensor::FromVector<int32_t>({DataType::kInt32, {2}}, {4, 5});
  EXPECT_THAT(Value(gradient, {x, i}, {Doubles({2}, {1, 1}), whole}), ElementsAre(5, 6));
}

TEST(Gradient, StopsAndGoesWhereTheFunctionSays) {
  const Tensor x = Input("x", {});
  const Tensor stopped = Call("function (X) -> (Y) { Y = X * stop_gradient(X); }", {x});
  EXPECT_THAT(Value(GradientOf(stopped, {x})[0], {x}, {Doubles({}, {5})}), ElementsAre(5));
  const Tensor given = Call(
      "function (X) -> (Y) { Y = custom_gradient(round(X), straight, X); }"
      "function straight (X, Y, DY) -> (DX) { DX = 3 * DY; }",
      {x});
  const Tensor loss = Call("function (Y) -> (L) { L = Y * Y; }", {given});
  const Tensor gradient = GradientOf(loss, {x})[0];
  EXPECT_THAT(Value(loss, {x}, {Doubles({}, {1.6})}), ElementsAre(4));
  EXPECT_THAT(Value(gradient, {x}, {Doubles({}, {1.6})}), ElementsAre(12));
}

TEST(Gradient, SendsNothingBeyondAStop) {
  // exp(1000) and its derivative are infinite. A zero gradient that passed the stop would make NaN.
  const Tensor x = Input("x", {});
  const Tensor large = Call("function (X) -> (Y) { Y = exp(X); }", {x});
  const Tensor stopped = Call("function (X) -> (Y) { Y = stop_gradient(X); }", {large});
  const Tensor sum = Call("function (S, X) -> (Y) { Y = 1 / S + 3 * X; }", {stopped, x});
  EXPECT_THAT(Value(GradientOf(stopped, {x})[0], {x}, {Doubles({}, {1000})}), ElementsAre(0));
  EXPECT_THAT(Value(GradientOf(sum, {x})[0], {x}, {Doubles({}, {1000})}), ElementsAre(3));
  const Tensor one_of_two =
      Call("function (A, B) -> (Y) { Y = stop_gradient(A) * 0 + B; }", {large, x});
  EXPECT_THAT(Value(GradientOf(one_of_two, {large, x})[1], {x}, {Doubles({}, {5})}),
              ElementsAre(1));
}

TEST(Gradient, SendsNothingToOperandsWithoutARule) {
  // The derivative of sqrt at 0 is infinite. A zero gradient of V or M would make NaN.
  const Tensor x = Input("x", {});
  const Tensor root = Call("function (X) -> (Y) { Y = sqrt(X); }", {x});
  const Tensor given = Call(
      "function (V, X, M) -> (Y) { Y = custom_gradient(V, rule, X, M); }"
      "function rule (X, M, Y, DY) -> (DX) { DX = (X + 2) * DY; }",
      {root, x, root});
  EXPECT_THAT(Value(GradientOf(given, {x})[0], {x}, {Doubles({}, {0})}), ElementsAre(2));
}

TEST(Gradient, RefusesWhatHasNone) {
  const Tensor x = Input("x", {2, 2});
  const Tensor n = Input("n", {}, DataType::kInt64);
  const Tensor sum = Call(kSum, {x});
  const auto message = [](const absl::StatusOr<std::vector<Tensor>>& result) {
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(result.status().message());
  };
  EXPECT_THAT(message(Gradient(x, {{x}})),
              HasSubstr("the loss is float64[2, 2], not a single element"));
  EXPECT_THAT(message(Gradient(sum, {{n}})), HasSubstr("'n' is int64[], but only floats"));
  EXPECT_THAT(message(Gradient(n, {{x}})), HasSubstr("the loss 'n' is int64[]"));
  EXPECT_THAT(message(Gradient(Tensor(), {{x}})), HasSubstr("undefined"));
  EXPECT_THAT(message(Gradient(sum, {{Tensor()}})), HasSubstr("undefined"));
  const std::vector<SeededTensor> wrong_seed = {{x, Input("seed", {2})}};
  EXPECT_THAT(message(Gradient(wrong_seed, {{x}})),
              HasSubstr("the seed is float64[2], but the loss is float64[2, 2]"));
}

TEST(Filled, HasTheShapeAndType) {
  for (const TensorShape& shape :
       {TensorShape{DataType::kFloat16, {2, 2}}, TensorShape{DataType::kFloat64, {}},
        TensorShape{DataType::kFloat32, {0, 3}}}) {
    const auto filled = Filled(shape, 0.5);
    ASSERT_TRUE(filled.ok()) << filled.status();
    EXPECT_EQ(filled->shape(), shape);
    EXPECT_EQ(Value(*filled, {}, {}), std::vector<double>(shape.element_count(), 0.5));
  }
  EXPECT_FALSE(Filled({DataType::kInt32, {2}}, 1).ok());
}

// --- The gradient as a function.

Function MatMul() { return Function::FromTile(kMatMul).value(); }
NamedShapes MatMulShapes() {
  return {{"A", {DataType::kFloat64, {1, 2}}}, {"B", {DataType::kFloat64, {2, 3}}}};
}

TEST(GradientFunction, TakesTheSameInputsAndNamesItsOutputs) {
  const auto gradient = GradientFunction(MatMul(), MatMulShapes(), {"B", "A"});
  ASSERT_TRUE(gradient.ok()) << gradient.status();
  EXPECT_THAT(gradient->input_names(), ElementsAre("A", "B"));
  EXPECT_THAT(gradient->output_names(), ElementsAre("B_grad", "A_grad"));
  const std::vector<Tensor> inputs = gradient->Placeholders(MatMulShapes()).value();
  const std::vector<Tensor> results = gradient->Apply(inputs).value();
  const std::vector<HostTensor> values = {Doubles({1, 2}, {5, 7}),
                                          Doubles({2, 3}, {1, 2, 3, 4, 5, 6})};
  EXPECT_THAT(Value(results[0], inputs, values), ElementsAre(5, 5, 5, 7, 7, 7));
  EXPECT_THAT(Value(results[1], inputs, values), ElementsAre(6, 15));
}

TEST(GradientFunction, TakesSeedsWhereAsked) {
  FunctionGradientOptions options;
  options.seeded = true;
  options.of = {"C"};
  const auto gradient = GradientFunction(MatMul(), MatMulShapes(), {"A"}, options);
  ASSERT_TRUE(gradient.ok()) << gradient.status();
  EXPECT_THAT(gradient->input_names(), ElementsAre("A", "B", "C_seed"));
}

TEST(GradientFunction, HasAGradientItself) {
  const Function square = Function::FromTile("function (X) -> (Y) { Y = X * X * X; }").value();
  const NamedShapes shapes = {{"X", {DataType::kFloat64, {}}}};
  const Function first = GradientFunction(square, shapes, {"X"}).value();
  const auto second = GradientFunction(first, shapes, {"X"});
  ASSERT_TRUE(second.ok()) << second.status();
  const Tensor x = Input("X", {});
  EXPECT_THAT(Value(second->Apply({x}).value()[0], {x}, {Doubles({}, {5})}), ElementsAre(30));
}

TEST(GradientFunction, RefusesNamesAndShapesThatDoNotFit) {
  const auto message = [](const absl::StatusOr<Function>& result) {
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(result.status().message());
  };
  EXPECT_THAT(message(GradientFunction(MatMul(), MatMulShapes(), {"D"})),
              HasSubstr("no input 'D'; it has A, B"));
  FunctionGradientOptions of;
  of.of = {"D"};
  EXPECT_THAT(message(GradientFunction(MatMul(), MatMulShapes(), {"A"}, of)),
              HasSubstr("no output 'D'; it has C"));
  NamedShapes shapes = MatMulShapes();
  shapes["B"].dims = {5, 3};
  EXPECT_THAT(message(GradientFunction(MatMul(), shapes, {"A"})), HasSubstr("'L'"));
  shapes.erase("B");
  EXPECT_THAT(message(GradientFunction(MatMul(), shapes, {"A"})), HasSubstr("the input 'B'"));
}

}  // namespace
}  // namespace tartan::api::gradient_test
