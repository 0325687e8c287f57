// SPDX-License-Identifier: Apache-2.0
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tile/ir/run_tile.h"
#include "tile/ir/program_builder.h"

namespace tartan::ir {
namespace {

using ::testing::HasSubstr;

// Prints a function, binds what was printed, and expects the same text again.
std::string RoundTrip(const std::string& text, const std::vector<HostTensor>& inputs) {
  const auto program = BindTile(text, inputs);
  EXPECT_TRUE(program.ok()) << program.status();
  if (!program.ok()) return "";
  const std::string printed = ToTile(*program);
  const auto again = BindTile(printed, inputs);
  EXPECT_TRUE(again.ok()) << again.status() << "\n" << printed;
  if (!again.ok()) return printed;
  EXPECT_EQ(ToTile(*again), printed);
  EXPECT_EQ(again->values.size(), program->values.size()) << printed;
  for (size_t i = 0; i < program->outputs.size(); ++i) {
    EXPECT_EQ(again->values[again->outputs[i]].shape, program->values[program->outputs[i]].shape);
  }
  return printed;
}

TEST(ToTile, BindsBackContractions) {
  const HostTensor x = Floats({4, 6}, std::vector<float>(24));
  RoundTrip("function (A[M, N]) -> (O) { O[i, j : N, M] = +(A[j, i]); }", {x});
  RoundTrip("function (A[M, N]) -> (O) { O[] = >(A[2 * i - 1, j] + A[i, j - i]), i < 2; }", {x});
  RoundTrip("function (A[M, N]) -> (O) { O[i : 12] = +(A[i / 3, j]), j + 2 < 5; }", {x});
  RoundTrip("function (A[M, N]) -> (O) { O[i : 12] = +(A[(2 * i + 1) / 6, j]); }", {x});
  RoundTrip(
      "function (A[M, N], B[L]) -> (O) {"
      "  D = B * 2; O[2 * i : L] = +(A[i, j] == A[j, i] ? A[i, i]) no_defract default D; }",
      {x, Floats({3}, {1, 2, 3})});
}

TEST(ToTile, BindsBackElementwiseOperationsAndLiterals) {
  const HostTensor x = Floats({2}, {1, 2});
  const std::string printed = RoundTrip(
      "function (A) -> (O) { O = A * 2 + 0.1 < as_float(0.1, 64) ? as_int(A, 8) : 100; }", {x});
  EXPECT_THAT(printed, HasSubstr("mul(A, 2)"));
  EXPECT_THAT(printed, HasSubstr("as_float(0.1, 64)"));
  RoundTrip("function (A) -> (O) { O = max(A, -inf()) + nan() + as_bfloat(A) + as_bool(A); }", {x});
}

TEST(ToTile, BindsBackSpecialOperations) {
  const HostTensor x = Floats({2, 3}, std::vector<float>(6));
  const HostTensor i = Ints(DataType::kInt64, {2}, {0, 1});
  RoundTrip("function (A, I) -> (O, P) { O = reshape(A, 3, 2); P = gather(A, I, 1); }", {x, i});
  RoundTrip("function (A, I) -> (O, P) { O = index(A, 1); P = argsort(A, 0, 1); }", {x, i});
  RoundTrip("function (A, I) -> (O) { O = cumsum(A, 1, 1, 0) + prng(3, 2, 3); }", {x, i});
}

TEST(ToTile, BindsBackCustomGradients) {
  const HostTensor x = Floats({2}, {1, 2});
  const std::string printed = RoundTrip(
      "function (A) -> (O, P) { O = custom_gradient(round(A), straight, A) * stop_gradient(A);"
      "  P = custom_gradient(floor(A), straight, A); }"
      "function straight (X, Y, DY) -> (DX) { DX = custom_gradient(DY, inner, X); }"
      "function inner (X, Y, DY) -> (DX) { DX = 2 * DY; }",
      {x});
  EXPECT_THAT(printed, HasSubstr("stop_gradient(A)"));
  EXPECT_THAT(printed, HasSubstr(", straight, A)"));
  EXPECT_THAT(printed, HasSubstr("function inner (X, Y, DY) -> (DX) {"));
}

TEST(ToTile, NamesOutputsThatAreInputsLiteralsOrRepeated) {
  const HostTensor x = Floats({2}, {1, 2});
  RoundTrip("function (A) -> (O, P, Q) { O = A; P = 2.5; Q = O; }", {x});
  const auto program = BindTile("function (A) -> (O, P) { O = -A; P = O; }", {x});
  EXPECT_THAT(ToTile(*program), HasSubstr("-> (O, P)"));
}

TEST(ToTile, KeepsIndicesThatOnlyConstraintsBound) {
  const std::string printed =
      RoundTrip("function (I[N]) -> (O) { O[i : 2] = +(I[2*i + 0*j]), j < 3; }",
                {Floats({5}, {1, 2, 3, 4, 5})});
  EXPECT_THAT(printed, HasSubstr("0*j"));
  RoundTrip("function (I) -> (O) { O[0*j : 1] = +(I[]), j < 3; }", {Floats({}, {2})});
}

TEST(ToTile, MakesNamesThatTileTakes) {
  ProgramBuilder builder;
  const ValueId x = *builder.AddInput("conv1/weights:0", {DataType::kFloat32, {2}});
  const ValueId y = *builder.AddElementwise(ScalarOp::kNeg, {x}, "conv1/weights:0");
  builder.AddOutput(*builder.AddElementwise(ScalarOp::kAbs, {y}, "1"), "9th");
  const std::string printed = ToTile(std::move(builder).Build().value());
  EXPECT_TRUE(BindTile(printed, {Floats({2}, {1, 2})}).ok()) << printed;
}

TEST(ToString, ShowsEveryOperation) {
  const auto program =
      BindTile("function (A[N]) -> (O) { S[i : N] = +(A[j] * A[i]), i - j < N; O = S * 0.5; }",
               {Floats({3}, {1, 2, 3})});
  const std::string text = ToString(*program);
  EXPECT_THAT(text, HasSubstr("%0 A: float32[3] = input"));
  EXPECT_THAT(text, HasSubstr("[i] +(%0[j] * %0[i]), 0 <= i - j < 3"));
  EXPECT_THAT(text, HasSubstr("weak literal 0.5"));
  EXPECT_THAT(text, HasSubstr("= mul(%1, %2)"));
  EXPECT_THAT(text, HasSubstr("output O = %3"));
}

}  // namespace
}  // namespace tartan::ir
