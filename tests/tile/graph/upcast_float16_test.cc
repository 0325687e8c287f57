// SPDX-License-Identifier: Apache-2.0
// Tests which 16-bit values are upcast to float32.
#include "tile/graph/matmul/upcast_float16.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/programs.h"
#include "tile/ir/verify_stored.h"

namespace tartan::graph {
namespace {

using ::testing::ElementsAre;

constexpr DataType kHalf = DataType::kFloat16;

// Returns "name: type" for each value after the pass.
std::vector<std::string> Widened(const std::string& code, std::vector<TensorShape> inputs,
                                 bool has_matrix_unit = false) {
  const ir::Program program =
      UpcastFloat16(BindTestProgram({"test", code, std::move(inputs)}), has_matrix_unit);
  EXPECT_TRUE(ir::VerifyStored(program).ok()) << ir::VerifyStored(program);
  std::vector<std::string> values;
  for (const ir::Value& value : program.values) {
    values.push_back(absl::StrCat(value.name, ": ", Name(value.shape.type)));
  }
  return values;
}

TEST(UpcastFloat16, LeavesOtherProgramsAlone) {
  const ir::Program program =
      BindTestProgram({"Sum",
                       "function (A, B) -> (R) { R = A + B; }",
                       {{DataType::kFloat32, {4}}, {DataType::kFloat32, {4}}}});
  EXPECT_EQ(UpcastFloat16(program), program);
}

TEST(UpcastFloat16, KeepsTheTypesOfInputsAndOutputs) {
  EXPECT_THAT(
      Widened("function (A, B) -> (R) { S = A + B; R = S * A; }", {{kHalf, {4}}, {kHalf, {4}}}),
      ElementsAre("A: float16", "B: float16", "S: float32", "R: float32", "R_rounded: float16"));
}

TEST(UpcastFloat16, KeepsConversionsToHalves) {
  EXPECT_THAT(Widened("function (A) -> (R) { H = as_float(A, 16); R = as_float(H + H, 32); }",
                      {{DataType::kFloat32, {4}}}),
              testing::Contains("H: float16"));
}

TEST(UpcastFloat16, RoundsFactorsAndResultsOfMatmulsWithAMatrixUnit) {
  const std::string code =
      "function (A[M, K], B[K, N]) -> (R) { S = A + A; P[i, j : M, N] = +(S[i, k] * B[k, j]); "
      "R = P + P; }";
  EXPECT_THAT(Widened(code, {{kHalf, {4, 4}}, {kHalf, {4, 4}}}, /*has_matrix_unit=*/true),
              ElementsAre("A: float16", "B: float16", "S: float32", "S_rounded: float16",
                          "P: float32", "P_rounded: float16", "R: float32", "R_rounded: float16"));
  // The result of a matmul with a float32 factor is not rounded.
  EXPECT_THAT(Widened(code, {{kHalf, {4, 4}}, {DataType::kFloat32, {4, 4}}}, true),
              testing::Not(testing::Contains("P_rounded: float16")));
}

TEST(UpcastFloat16, RoundsWhatMemoryHoldsWithAMatrixUnit) {
  const std::vector<TensorShape> inputs = {{kHalf, {4, 4}}};
  const auto is_rounded = [&](const std::string& statements) {
    const std::vector<std::string> values =
        Widened("function (A[M, N]) -> (R) { S = A + A; " + statements + " }", inputs, true);
    return std::find(values.begin(), values.end(), "S_rounded: float16") != values.end();
  };
  EXPECT_FALSE(is_rounded("R = S + A;"));  // one elementwise reader
  EXPECT_TRUE(is_rounded("T = S + A; U = S * A; R = T - U;"));
  EXPECT_TRUE(is_rounded("R[i : M] = +(S[i, j]);"));
  EXPECT_TRUE(is_rounded("T[j, i : N, M] = =(S[i, j]); R = T + T;"));
  // The readers of a conversion to float32 count.
  EXPECT_FALSE(is_rounded("W = as_float(S, 32); R = W * 2;"));
  EXPECT_TRUE(is_rounded("W = as_float(S, 32); T = W * 2; U = W + T; R = T * U;"));
}

TEST(UpcastFloat16, KeepsResultsInFloat32WhoseErrorsGrow) {
  for (const std::string result : {"exp(A)", "sqrt(A)", "log(A)", "recip(A)", "A * A"}) {
    EXPECT_THAT(Widened("function (A) -> (R) { S = " + result + "; T = S + A; R = T * S; }",
                        {{kHalf, {4, 4}}}, true),
                testing::Contains("S: float32"))
        << result;
    EXPECT_THAT(Widened("function (A) -> (R) { S = " + result + "; T = S + A; R = T * S; }",
                        {{kHalf, {4, 4}}}, true),
                testing::Not(testing::Contains("S_rounded: float16")))
        << result;
  }
}

TEST(UpcastFloat16, GivesMovedAndSelectedElementsTheirTypeWithAMatrixUnit) {
  const auto type = [](const std::string& statement, bool has_matrix_unit) {
    return Widened("function (A[M, N]) -> (R) { " + statement + " R = T + 1; }", {{kHalf, {4, 4}}},
                   has_matrix_unit)[1];
  };
  for (const std::string statement :
       {"T[j, i : N, M] = =(A[i, j]);", "T[j, i : N, M] = +(A[i, j]);",
        "T[i, j + 1 : M, N + 2] = =(A[i, j]);", "T[i : M] = >(A[i, j]);"}) {
    EXPECT_EQ(type(statement, true), "T: float16") << statement;
    EXPECT_EQ(type(statement, false), "T: float32") << statement;
  }
  EXPECT_EQ(type("T[i : M] = +(A[i, j]);", true), "T: float32");
}

TEST(UpcastFloat16, GivesViewsTheTypeOfWhatTheyShow) {
  EXPECT_THAT(Widened("function (A) -> (R) { V = reshape(A, 2, 2); S = A + A; W = reshape(S, 2, 2);"
                      " R = V + W; }",
                      {{kHalf, {4}}}),
              ElementsAre("A: float16", "V: float16", "S: float32", "W: float32", "R: float32",
                          "R_rounded: float16"));
}

TEST(UpcastFloat16, RoundsWhatAScatterPutsAmongHalves) {
  const std::vector<std::string> values =
      Widened("function (A, I, U) -> (R) { V = U + U; R = scatter_nd(A, I, V); }",
              {{kHalf, {4}}, {DataType::kInt32, {2, 1}}, {kHalf, {2}}});
  EXPECT_THAT(values, testing::IsSupersetOf({"V: float32", "V_rounded: float16", "R: float16"}));
}

}  // namespace
}  // namespace tartan::graph
