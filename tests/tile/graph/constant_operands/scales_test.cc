// SPDX-License-Identifier: Apache-2.0
// Tests which scales of matmul factors are applied to the matmul's result instead.
#include "tile/graph/constant_operands/scales.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/tile/compiler/programs.h"
#include "tile/ir/naive_evaluator.h"
#include "tile/ir/verify_stored.h"

namespace tartan::graph {
namespace {

TestProgram Test(const std::string& code) {
  return {"test",
          code,
          {{DataType::kFloat32, {5, 7}}, {DataType::kFloat32, {7, 3}}, {DataType::kFloat32, {1}}}};
}

// Marks the input S as known at load.
ir::Program Bound(const TestProgram& test) {
  ir::Program program = BindTestProgram(test);
  for (ir::ValueId input : program.inputs) {
    if (program.values[input].name == "S") {
      std::get<ir::Input>(program.values[input].op).is_constant = true;
    }
  }
  return program;
}

// Counts the contraction inputs that are themselves scaled by a multiplication.
int ScaledFactors(const ir::Program& program) {
  int count = 0;
  for (const ir::Value& value : program.values) {
    const auto* sum = std::get_if<ir::Contraction>(&value.op);
    if (sum == nullptr) continue;
    for (const ir::Access& input : sum->inputs) {
      const auto* factor = std::get_if<ir::Elementwise>(&program.values[input.tensor].op);
      count += factor != nullptr && factor->op == ScalarOp::kMul ? 1 : 0;
    }
  }
  return count;
}

void Expect(const std::string& code, int before, int after) {
  const TestProgram test = Test(code);
  const ir::Program program = Bound(test);
  ASSERT_EQ(ScaledFactors(program), before) << code;
  const ir::Program scaled = ScaleAfterMatmuls(program);
  EXPECT_TRUE(ir::VerifyStored(scaled).ok()) << ir::VerifyStored(scaled);
  EXPECT_EQ(ScaledFactors(scaled), after) << code;
  const std::vector<HostTensor> inputs = RandomInputs(test, 1);
  const auto expected = ir::EvaluateNaively(program, inputs);
  const auto actual = ir::EvaluateNaively(scaled, inputs);
  ASSERT_TRUE(expected.ok() && actual.ok());
  ASSERT_EQ(expected->size(), actual->size());
  for (size_t o = 0; o < expected->size(); ++o) {
    EXPECT_EQ(FirstDifference((*actual)[o], (*expected)[o], 1e-6), "") << code;
  }
}

constexpr char kProduct[] = "P[i, j : M, N] = +(F[i, k] * G[k, j]); }";

TEST(ScaleAfterMatmuls, TakesScalesOfBothFactors) {
  Expect(std::string("function (A[M, K], B[K, N], S) -> (P) { F0[i, k : M, K] = =(A[i, k]); G0[k, "
                     "j : K, N] = =(B[k, j]); F = F0 * 0.25; G = G0 * S; ") +
             kProduct,
         2, 0);
  Expect(std::string("function (A[M, K], B[K, N], S) -> (P) { F0[i, k : M, K] = =(A[M - 1 - i, "
                     "k]); F = S * F0; G = B; ") +
             kProduct,
         1, 0);
}

TEST(ScaleAfterMatmuls, LeavesWhatIsReadOtherwiseOrSeen) {
  Expect(std::string("function (A[M, K], B[K, N], S) -> (P, F) { F0[i, k : M, K] = =(A[i, k]); F = "
                     "F0 * 0.25; G = B; ") +
             kProduct,
         1, 1);
  Expect(std::string("function (A[M, K], B[K, N], S) -> (P, E) { F0[i, k : M, K] = =(A[i, k]); F = "
                     "F0 * S; G = B; E = exp(F); ") +
             kProduct,
         1, 1);
}

// A kernel that computes a factor scales it at no cost.
TEST(ScaleAfterMatmuls, LeavesFactorsThatAreComputedOrGiven) {
  Expect(std::string("function (A[M, K], B[K, N], S) -> (P) { F = exp(A) * S; G = B; ") + kProduct,
         1, 1);
  Expect(std::string("function (A[M, K], B[K, N], S) -> (P) { F = A * S; G = B; ") + kProduct, 1,
         1);
}

TEST(ScaleAfterMatmuls, LeavesNumbersForEachElementAndOtherAggregations) {
  Expect(
      "function (A[M, K], B[K, N], S) -> (P) { F0[i, k : M, K] = =(A[i, k]); F = F0 * A; G = B;"
      " P[i, j : M, N] = +(F[i, k] * G[k, j]); }",
      1, 1);
  Expect(
      "function (A[M, K], B[K, N], S) -> (P) { F = A * S; G = B;"
      " P[i, j : M, N] = >(F[i, k] * G[k, j]); }",
      1, 1);
  Expect(
      "function (A[M, K], B[K, N], S) -> (P) { F = A * S; G = B;"
      " P[i, j : M, N] = +(F[i, k] + G[k, j]); }",
      1, 1);
}

}  // namespace
}  // namespace tartan::graph
