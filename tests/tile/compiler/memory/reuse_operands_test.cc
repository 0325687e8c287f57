// SPDX-License-Identifier: Apache-2.0
// Tests that launches write over operands only where each element is read in its place.
#include "tile/compiler/memory/reuse_operands.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/programs.h"
#include "tests/tile/compiler/step_lists.h"
#include "tile/compiler/compiler.h"

namespace tartan::compiler::reuse_operands_test {
namespace {

// Returns the peak with or without the pass, and compares results with the naive evaluator.
int64_t PeakWith(const TestProgram& test, bool reuses) {
  auto list = Compile(BindTestProgram(test), CompileOptions());
  EXPECT_TRUE(list.ok()) << list.status();
  if (reuses) ReuseOperands(0, &*list);
  ExpectNaiveResults(test, *list);
  return Peak(*list);
}

constexpr int64_t kSize = 32;

TestProgram Matmuls(const std::string& statements) {
  const TensorShape square = {DataType::kFloat32, {kSize, kSize}};
  return {"matmuls",
          "function (A[N, N], B[N, N]) -> (O) { P[i, j : N, N] = +(A[i, k] * A[k, j]); " +
              statements + " O[j : N] = >(R[i, j]); }",
          {square, square}};
}

TEST(ReuseOperands, AccumulatesAMatmulInPlace) {
  const TestProgram test = Matmuls("Q[i, j : N, N] = +(A[i, k] * B[k, j]); R = P + Q;");
  const int64_t bytes = kSize * kSize * 4;
  EXPECT_EQ(PeakWith(test, true), PeakWith(test, false) - bytes);
}

// A transposed operand is read elsewhere than the result is written, and an operand with a later
// reader must stay.
TEST(ReuseOperands, KeepsOperandsThatOthersRead) {
  const TestProgram transposed =
      Matmuls("F[j, i : N, N] = =(P[i, j]); Q[i, j : N, N] = +(A[i, k] * B[k, j]); R = F * Q;");
  EXPECT_EQ(PeakWith(transposed, true), PeakWith(transposed, false));
  const TestProgram late = Matmuls(
      "Q[i, j : N, N] = +(A[i, k] * B[k, j]); S = P + Q; "
      "R[i, j : N, N] = +(S[i, k] * P[k, j]);");
  EXPECT_EQ(PeakWith(late, true), PeakWith(late, false));
}

// A matmul reads whole rows of its factors.
TEST(ReuseOperands, KeepsFactorsOfMatmuls) {
  const TestProgram test = Matmuls("R[i, j : N, N] = +(P[i, k] * B[k, j]);");
  EXPECT_EQ(PeakWith(test, true), PeakWith(test, false));
}

}  // namespace
}  // namespace tartan::compiler::reuse_operands_test
