// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/inline.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tile/lang/binder.h"
#include "tile/lang/parser.h"

namespace tartan::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(NameScope, MakesTileNames) {
  NameScope scope;
  EXPECT_EQ(scope.Unique("conv1/weights:0"), "Conv1_weights_0");
  EXPECT_EQ(scope.Unique("Conv1_weights_0"), "Conv1_weights_0_1");
  EXPECT_EQ(scope.Unique("9"), "T9");
  EXPECT_EQ(scope.Unique(""), "T");
  EXPECT_EQ(scope.Unique("_x"), "T_x");
  for (const std::string& name : {scope.Unique("é"), scope.Unique("a b"), scope.Unique("#x")}) {
    EXPECT_TRUE(lang::Parse("function (" + name + ") -> (Y) { Y = " + name + "; }").ok()) << name;
  }
}

TEST(InlineFunction, ReplacesSizesByNumbersAndTensorsByNames) {
  const lang::Function callee = lang::Parse(
                                    "function (I[N, M], N_[N]) -> (O) {"
                                    "  S[i : N / 2] = +(I[2 * i + j, k] * N_[i]), j < N - 1;"
                                    "  O = S / (N * M); }")
                                    .value();
  NameScope scope;
  lang::Function caller;
  const std::vector<TensorShape> shapes = {{DataType::kFloat32, {6, 5}}, {DataType::kFloat32, {6}}};
  const std::vector<std::string> outputs =
      InlineFunction(callee, {"X", "W"}, shapes, "pool", &scope, &caller.statements);
  EXPECT_THAT(outputs, ElementsAre("Pool"));
  const std::string text = lang::Print(caller);
  EXPECT_THAT(text, HasSubstr("Pool_S[i : 6 / 2] = +(X[2 * i + j, k] * W[i]), j < 6 - 1"));
  EXPECT_THAT(text, HasSubstr("Pool = Pool_S / (6 * 5);"));
}

TEST(InlineFunction, TellsASizeFromATensorOfItsName) {
  const lang::Function callee = lang::Parse(
                                    "function (I[N, M], M) -> (O) {"
                                    "  N[i : N / 2] = +(I[N - i, k] * M[k]), k < M - 1;"
                                    "  O = N * M; }")
                                    .value();
  NameScope scope;
  lang::Function caller;
  const std::vector<TensorShape> shapes = {{DataType::kFloat32, {6, 5}}, {DataType::kFloat32, {5}}};
  InlineFunction(callee, {"X", "W"}, shapes, "f", &scope, &caller.statements);
  const std::string text = lang::Print(caller);
  EXPECT_THAT(text, HasSubstr("F_N[i : 6 / 2] = +(X[6 - i, k] * W[k]), k < 5 - 1;"));
  EXPECT_THAT(text, HasSubstr("F = F_N * W;"));

  caller.statements.clear();
  const lang::Function scaled = lang::Parse("function (A[N]) -> (N) { N = A * N; }").value();
  EXPECT_THAT(
      InlineFunction(scaled, {"X"}, {{DataType::kFloat32, {6}}}, "g", &scope, &caller.statements),
      ElementsAre("G"));
  EXPECT_THAT(lang::Print(caller), HasSubstr("G = X * 6;"));
}

TEST(InlineFunction, GivesASizeThatIsAnOutputAName) {
  const lang::Function callee = lang::Parse("function (A[M, N]) -> (N, O) { O = A / N; }").value();
  NameScope scope;
  lang::Function caller;
  const std::vector<TensorShape> shapes = {{DataType::kFloat32, {5, 6}}};
  caller.outputs = InlineFunction(callee, {"X"}, shapes, "", &scope, &caller.statements);
  caller.inputs.push_back({{}, "X", false, {}, {}});
  const absl::StatusOr<ir::Program> program = lang::Bind(caller, shapes);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(program->values[program->outputs[0]].shape.ToString(), "int32[]");
  EXPECT_THAT(lang::Print(caller), HasSubstr("N = 6;"));
}

TEST(InlineFunction, GivesRepeatedCallsDifferentNames) {
  const lang::Function callee = lang::Parse("function (A) -> (B) { C = -A; B = C; }").value();
  NameScope scope;
  lang::Function caller;
  const std::vector<TensorShape> shapes = {{DataType::kFloat32, {6}}};
  const auto first = InlineFunction(callee, {"X"}, shapes, "", &scope, &caller.statements);
  const auto second = InlineFunction(callee, first, shapes, "", &scope, &caller.statements);
  EXPECT_NE(first, second);
  EXPECT_EQ(caller.statements.size(), 4u);
}

}  // namespace
}  // namespace tartan::api
