// SPDX-License-Identifier: Apache-2.0
// Tests which 16-bit values are upcast to float32.
#include "tile/graph/matmul/upcast_float16.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/programs.h"
#include "tile/ir/verify_stored.h"

namespace tartan::graph {
namespace {

using ::testing::ElementsAre;

constexpr DataType kHalf = DataType::kFloat16;

// Returns "name: type" for each value after the pass.
std::vector<std::string> Widened(const std::string& code, std::vector<TensorShape> inputs,
                                 bool rounds_factors = false) {
  const ir::Program program =
      UpcastFloat16(BindTestProgram({"test", code, std::move(inputs)}), rounds_factors);
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

TEST(UpcastFloat16, RoundsFactorsAndResultsOfMatmulsForAMatrixUnit) {
  const std::string code =
      "function (A[M, K], B[K, N]) -> (R) { S = A + A; P[i, j : M, N] = +(S[i, k] * B[k, j]); "
      "R = P + P; }";
  EXPECT_THAT(Widened(code, {{kHalf, {4, 4}}, {kHalf, {4, 4}}}, /*rounds_factors=*/true),
              ElementsAre("A: float16", "B: float16", "S: float32", "S_rounded: float16",
                          "P: float32", "P_rounded: float16", "R: float32", "R_rounded: float16"));
  // A float32 factor is not rounded.
  EXPECT_THAT(Widened(code, {{kHalf, {4, 4}}, {DataType::kFloat32, {4, 4}}}, true),
              testing::Not(testing::Contains("S_rounded: float16")));
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
