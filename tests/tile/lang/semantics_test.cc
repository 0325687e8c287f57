// SPDX-License-Identifier: Apache-2.0
// Tests the semantics of Tile with the naive evaluator, one promise of tile/lang/README.md each.
#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tile/lang/evaluate.h"

namespace tartan::lang::semantics_test {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::NanSensitiveDoubleEq;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

HostTensor Floats(const std::vector<float>& values) {
  return FloatTensor({static_cast<int64_t>(values.size())}, values);
}

HostTensor Ints(DataType type, const std::vector<int64_t>& values) {
  return IntTensor(type, {static_cast<int64_t>(values.size())}, values);
}

// Returns the values of O.
std::vector<double> OutputOf(const std::string& body, const std::vector<HostTensor>& inputs) {
  const char* header[] = {"function () -> (O) { ", "function (A) -> (O) { ",
                          "function (A, B) -> (O) { ", "function (A, B, C) -> (O) { "};
  const std::vector<HostTensor> outputs = Evaluate(header[inputs.size()] + body + " }", inputs);
  return outputs.size() == 1 ? Values(outputs[0]) : std::vector<double>{};
}

TEST(Semantics, AnEmptyAggregationIsZero) {
  const HostTensor input = Floats({1, 2});
  for (const char* aggregation : {"+", "*", ">", "<", "="}) {
    EXPECT_THAT(OutputOf(std::string("O[i : 3] = ") + aggregation + "(A[i - 1]);", {input}),
                ElementsAre(0, 1, 2));
  }
}

TEST(Semantics, ADefaultFillsWhatNoIndexReaches) {
  EXPECT_THAT(OutputOf("O[2*i : 4] = +(A[i]) default B;", {Floats({1, 2}), Floats({7, 8, 9, 10})}),
              ElementsAre(1, 8, 2, 10));
}

TEST(Semantics, AggregationsOfNegativeNumbersDoNotSeeZero) {
  const HostTensor input = Floats({-3, -1, -2});
  EXPECT_THAT(OutputOf("O[] = >(A[i]);", {input}), ElementsAre(-1));
  EXPECT_THAT(OutputOf("O[] = <(A[i]);", {input}), ElementsAre(-3));
  EXPECT_THAT(OutputOf("O[] = *(A[i]);", {input}), ElementsAre(-6));
}

TEST(Semantics, InfinityIsAnOrdinaryMaximum) {
  const HostTensor input = Floats({-INFINITY, -INFINITY});
  EXPECT_THAT(OutputOf("O[] = >(A[i]);", {input}), ElementsAre(-kInf));
}

TEST(Semantics, NaNPropagatesThroughMaxAndMin) {
  const HostTensor input = Floats({1, kNan, 3});
  EXPECT_THAT(OutputOf("O[] = >(A[i]);", {input}), ElementsAre(NanSensitiveDoubleEq(kNan)));
  EXPECT_THAT(OutputOf("O[] = <(A[i]);", {input}), ElementsAre(NanSensitiveDoubleEq(kNan)));
  EXPECT_THAT(OutputOf("O = max(A, 2);", {input}), ElementsAre(2, NanSensitiveDoubleEq(kNan), 3));
  EXPECT_THAT(OutputOf("O = min(2, A);", {input}), ElementsAre(1, NanSensitiveDoubleEq(kNan), 2));
}

TEST(Semantics, IntegersWrapAround) {
  EXPECT_THAT(OutputOf("O = A + 1;", {Ints(DataType::kInt8, {127, -128})}),
              ElementsAre(-128, -127));
  EXPECT_THAT(OutputOf("O = -A;", {Ints(DataType::kUInt8, {1, 0})}), ElementsAre(255, 0));
  EXPECT_THAT(OutputOf("O[] = +(A[i]);", {Ints(DataType::kInt8, {100, 100})}), ElementsAre(-56));
}

TEST(Semantics, IntegerDivisionTruncatesAndIsZeroByZero) {
  EXPECT_THAT(OutputOf("O = A / B;", {Ints(DataType::kInt32, {7, -7, 7, 5}),
                                      Ints(DataType::kInt32, {2, 2, -2, 0})}),
              ElementsAre(3, -3, -3, 0));
  EXPECT_THAT(OutputOf("O = A % B;", {Ints(DataType::kInt32, {7, -7, 7, 5}),
                                      Ints(DataType::kInt32, {3, 3, -3, 0})}),
              ElementsAre(1, 2, -2, 0));
}

TEST(Semantics, ShiftsByTheWidthOrMoreLeaveTheSign) {
  EXPECT_THAT(OutputOf("O = A << B;",
                       {Ints(DataType::kInt32, {1, 1, 1}), Ints(DataType::kInt32, {3, 31, 32})}),
              ElementsAre(8, -2147483648.0, 0));
  EXPECT_THAT(OutputOf("O = A >> B;",
                       {Ints(DataType::kInt32, {-8, -8, 8}), Ints(DataType::kInt32, {1, 40, 40})}),
              ElementsAre(-4, -1, 0));
}

TEST(Semantics, ASelectionContractionTakesTheThirdTensorWhereTheFirstTwoAgree) {
  EXPECT_THAT(OutputOf("O[i : 3] = +(A[i] == B[j] ? C[j]);",
                       {Floats({1, 2, 3}), Floats({2, 1, 2}), Floats({10, 20, 30})}),
              ElementsAre(20, 40, 0));
}

TEST(Semantics, AnEqualityContractionIsBoolean) {
  const std::vector<HostTensor> outputs = Evaluate(
      "function (A, B) -> (O) { O[i : 2] = >(A[i] == B[j]); }", {Floats({1, 5}), Floats({3, 1})});
  ASSERT_EQ(outputs.size(), 1);
  EXPECT_EQ(outputs[0].type(), DataType::kBool);
  EXPECT_THAT(Values(outputs[0]), ElementsAre(1, 0));
}

TEST(Semantics, BroadcastingAlignsToTheRight) {
  EXPECT_THAT(OutputOf("O = A * 10 + B;", {FloatTensor({2, 1}, {1, 2}), Floats({3, 4})}),
              ElementsAre(13, 14, 23, 24));
}

TEST(Semantics, SelectionIsElementwise) {
  EXPECT_THAT(OutputOf("O = A > 0 ? A : 0.5 * A;", {Floats({2, -2})}), ElementsAre(2, -1));
}

TEST(Semantics, LogicAndBits) {
  const HostTensor a = Ints(DataType::kInt32, {6, 0, 5});
  const HostTensor b = Ints(DataType::kInt32, {3, 2, 0});
  EXPECT_THAT(OutputOf("O = A & B;", {a, b}), ElementsAre(2, 0, 0));
  EXPECT_THAT(OutputOf("O = A | B;", {a, b}), ElementsAre(7, 2, 5));
  EXPECT_THAT(OutputOf("O = A ^ B;", {a, b}), ElementsAre(5, 2, 5));
  EXPECT_THAT(OutputOf("O = ~A;", {a}), ElementsAre(-7, -1, -6));
  EXPECT_THAT(OutputOf("O = A && B;", {a, b}), ElementsAre(1, 0, 0));
  EXPECT_THAT(OutputOf("O = A || B;", {a, b}), ElementsAre(1, 1, 1));
  EXPECT_THAT(OutputOf("O = !A;", {a}), ElementsAre(0, 1, 0));
}

TEST(Semantics, ShapeIsAVectorOfSizes) {
  EXPECT_THAT(OutputOf("O = shape(A);", {FloatTensor({2, 1, 3}, {1, 2, 3, 4, 5, 6})}),
              ElementsAre(2, 1, 3));
  EXPECT_THAT(OutputOf("O = shape(A);", {Floats({1, 2, 3, 4})}), ElementsAre(4));
  EXPECT_THAT(OutputOf("O = shape(A);", {FloatTensor({}, {1})}), ElementsAre());
}

TEST(Semantics, IndexIsACoordinate) {
  EXPECT_THAT(OutputOf("O = index(A, 0) * 10 + index(A, -1);", {FloatTensor({2, 2}, {0, 0, 0, 0})}),
              ElementsAre(0, 1, 10, 11));
}

TEST(Semantics, ArgumentOfTheMaximum) {
  EXPECT_THAT(OutputOf("M[] = >(A[i]); P = A == M ? index(A, 0) : 99; O[] = <(P[i]);",
                       {Floats({3, 9, 2, 9})}),
              ElementsAre(1));
}

TEST(Semantics, SpecialFunctions) {
  EXPECT_THAT(OutputOf("O = gather(A, B);",
                       {FloatTensor({3, 2}, {1, 2, 3, 4, 5, 6}), Ints(DataType::kInt64, {2, 0})}),
              ElementsAre(5, 6, 1, 2));
  EXPECT_THAT(OutputOf("O = sort(A, 0, 1);", {Floats({2, 3, 1})}), ElementsAre(3, 2, 1));
  EXPECT_THAT(OutputOf("O = argsort(A, 0);", {Floats({2, 3, 1})}), ElementsAre(2, 0, 1));
  EXPECT_THAT(OutputOf("O = argsort(A, 0, 1, 2);", {Floats({2, 3, 1, 3})}), ElementsAre(1, 3));
  EXPECT_THAT(OutputOf("O = cumsum(A, 0);", {Floats({2, 3, 1})}), ElementsAre(2, 5, 6));
  EXPECT_THAT(OutputOf("O = reshape(A, 2, 2);", {Floats({1, 2, 3, 4})}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(OutputOf("O = scatter_elements(A, B, C, 0, 1);",
                       {Floats({1, 2, 3}), Ints(DataType::kInt64, {2, 2}), Floats({10, 20})}),
              ElementsAre(1, 2, 33));
}

TEST(Semantics, AScalarConstantMayBeASize) {
  const HostTensor input = Floats({1, 2, 3, 4});
  EXPECT_THAT(OutputOf("D = as_int(3, 32); O[i : D - 1] = +(A[i + k]), k < D;", {input}),
              ElementsAre(6, 9));
  EXPECT_THAT(OutputOf("D = as_uint(2, 8); O = reshape(A, D, D);", {input}),
              ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(OutputOf("O[i : broadcast(1, 2, 1)] = +(A[i]);", {input}), ElementsAre(1, 2));
  EXPECT_THAT(OutputOf("D = as_int(2, 32); O[i : match(2, D)] = +(A[i]);", {input}),
              ElementsAre(1, 2));
}

TEST(Semantics, ATensorMayHaveTheNameOfASize) {
  const HostTensor input = Floats({1, 2, 3, 4});
  const auto output = [&](const std::string& body) {
    return Values(Evaluate("function (A[N]) -> (O) { " + body + " }", {input}).at(0));
  };
  // The name means the size until the tensor has a value, then the tensor, except where a size is
  // required.
  EXPECT_THAT(output("N = A * N; O = N / 2;"), ElementsAre(2, 4, 6, 8));
  EXPECT_THAT(output("N[i : N] = +(A[i + N - 2]); O[i : N - 1] = +(N[i]), i < N - 2;"),
              ElementsAre(3, 4, 0));
  EXPECT_THAT(output("N[i : 2] = +(A[N / 2 * i + j]), j < N / 2; O = N;"), ElementsAre(3, 7));
  // PlaidML's backend for Keras writes its pools in this way.
  EXPECT_THAT(output("S[i : N / 2] = +(A[2*i + j]), j < 2; Ones = A * 0 + 1;"
                     "N[i : N / 2] = +(Ones[2*i + j]), j < 2; O = S / N;"),
              ElementsAre(1.5, 3.5));
  // A constant must match the size.
  EXPECT_THAT(output("N = 4; O[i : N] = +(A[i]);"), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Values(Evaluate("function (N[N], A[A, N]) -> (O) {"
                              "  O[i : A] = +(A[i, j] * N[j]); O_ = N; }",
                              {Floats({1, 2}), FloatTensor({3, 2}, {1, 0, 0, 1, 1, 1})})
                         .at(0)),
              ElementsAre(1, 2, 3));
}

TEST(Semantics, AttributesMayNoteAnything) {
  EXPECT_THAT(OutputOf("[[hot]] [[layer(A, b)]] O = A + 1;", {Floats({1})}), ElementsAre(2));
}

TEST(Semantics, FunctionsOfPlaidMLAreCompositions) {
  const HostTensor rows = FloatTensor({2, 2}, {0, 0, 1000, 1000 + std::log(3.0F)});
  EXPECT_THAT(OutputOf("O = builtin_softmax(A, 2, 2);", {rows}),
              ElementsAre(0.5, 0.5, DoubleNear(0.25, 1e-4), DoubleNear(0.75, 1e-4)));
  EXPECT_THAT(OutputOf("O = builtin_logsoftmax(A, 2, 2);", {rows}),
              ElementsAre(DoubleNear(std::log(0.5), 1e-6), DoubleNear(std::log(0.5), 1e-6),
                          DoubleNear(std::log(0.25), 1e-4), DoubleNear(std::log(0.75), 1e-4)));
  EXPECT_THAT(OutputOf("O = reverse_grad(A, 2.0);", {Floats({1, 2})}), ElementsAre(1, 2));
}

TEST(Semantics, RandomNumbersHaveAState) {
  const HostTensor seed = IntTensor(DataType::kUInt32, {3, 2}, {7, 0, 11, 0, 0, 0});
  const std::string step = "P = prng_step(A, 5, 4); ";
  const std::vector<double> values = OutputOf(step + "O = prng_value(P);", {seed});
  ASSERT_EQ(values.size(), 20u);
  for (const double value : values) EXPECT_TRUE(value >= 0 && value < 1) << value;
  EXPECT_EQ(OutputOf(step + "O = prng_value(P);", {seed}), values);
  const std::vector<double> state = OutputOf(step + "O = prng_state(P);", {seed});
  ASSERT_EQ(state.size(), 3u * 2048);
  EXPECT_EQ(state[0], 8);
  EXPECT_EQ(state[2048], 11);
  EXPECT_NE(OutputOf(step + "S = prng_state(P); Q = prng_step(S, 20); O = prng_value(Q);", {seed}),
            values);
  EXPECT_EQ(OutputOf("P = prng_step(A); O = prng_value(P);", {seed}).size(), 1u);
}

TEST(Semantics, LiteralsReachDoublePrecision) {
  const HostTensor zero =
      HostTensor::FromVector<double>({DataType::kFloat64, {1}}, std::vector<double>{0});
  EXPECT_THAT(OutputOf("O = A + 0.1;", {zero}), ElementsAre(0.1));
  EXPECT_THAT(OutputOf("O = A + 1.0 / 3;", {zero}), ElementsAre(1.0 / 3));
  EXPECT_THAT(OutputOf("O = A - inf();", {zero}), ElementsAre(-kInf));
}

TEST(Semantics, FunctionsWithoutInputsAreConstants) {
  EXPECT_THAT(OutputOf("O = 2 + 3;", {}), ElementsAre(5));
  EXPECT_THAT(OutputOf("H = 0.5; O[i : 3] = +(H[]);", {}), ElementsAre(0.5, 0.5, 0.5));
}

}  // namespace
}  // namespace tartan::lang::semantics_test
