// SPDX-License-Identifier: Apache-2.0
// Tests that sums over the same large tensor are joined.
#include "tile/graph/rows/join_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tile/graph/same_meaning.h"

namespace tartan::graph {
namespace {

constexpr int64_t kRows = 2048, kColumns = 512;

TestProgram OfSums(const std::string& statements) {
  return {"Sums",
          "function (X[N, C], Y[N, C]) -> (R) { " + statements + " }",
          {{DataType::kFloat32, {kRows, kColumns}}, {DataType::kFloat32, {kRows, kColumns}}}};
}

int CountLargeSums(const ir::Program& program) {
  int count = 0;
  for (const ir::Value& value : program.values) {
    const auto* sum = std::get_if<ir::Contraction>(&value.op);
    if (sum != nullptr && sum->aggregation == Aggregation::kSum) ++count;
  }
  return count;
}

TEST(JoinSums, JoinsTwoOfATensorAndItsSquares) {
  const TestProgram test =
      OfSums("Q = X * X; S[c : C] = +(X[n, c]); T[c : C] = +(Q[n, c]); R = T * 2 - S;");
  const ir::Program joined = JoinSums(BindTestProgram(test));
  EXPECT_EQ(CountLargeSums(joined), 1);
  ExpectSameMeaning(joined, test);
}

TEST(JoinSums, JoinsPairsOfThree) {
  const TestProgram test = OfSums(
      "Q = X * Y; Z = X + Y; S[0, c : 1, C] = +(X[n, c]); T[0, c : 1, C] = +(Q[n, c]); "
      "U[0, c : 1, C] = +(Z[n, c]); R = T * S + U;");
  const ir::Program joined = JoinSums(BindTestProgram(test));
  EXPECT_EQ(CountLargeSums(joined), 2);
  ExpectSameMeaning(joined, test);
}

TEST(JoinSums, LeavesOthersAlone) {
  for (const std::string statements :
       {// Different tensors.
        "S[c : C] = +(X[n, c]); T[c : C] = +(Y[n, c]); R = S + T;",
        // Sums along the rows.
        "Q = X * X; S[n : N] = +(X[n, c]); T[n : N] = +(Q[n, c]); R = S + T;",
        // The second sum needs the first.
        "S[c : C] = +(X[n, c]); Q = X - S; T[c : C] = +(Q[n, c]); R = S + T;",
        // Different elements.
        "Q = X * X; S[c : C] = +(X[n, c]); T[c : C] = +(Q[n, c]), n < 9; R = S + T;"}) {
    const ir::Program program = BindTestProgram(OfSums(statements));
    EXPECT_EQ(JoinSums(program), program) << statements;
  }
}

}  // namespace
}  // namespace tartan::graph
