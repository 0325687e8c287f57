// SPDX-License-Identifier: Apache-2.0
// Tests which values are moved in 16 bits.
#include "tile/graph/moves/narrow_moves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/tile/graph/same_meaning.h"
#include "tests/tile/testing.h"

namespace tartan::graph::narrow_moves_test {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Returns the names of moved 16-bit values. V and W are bfloat16 values as float32, X is float32.
// Checks that results stay the same.
std::vector<std::string> Narrow(const std::string& statements) {
  const TestProgram test = {
      "test",
      absl::StrCat("function (A[M, N], B[M, N], X) -> (R) { V = as_float(as_bfloat(A), 32); "
                   "W = as_float(as_bfloat(B), 32); ",
                   statements, " }"),
      {F32({4, 6}), F32({4, 6}), F32({4, 6})}};
  const ir::Program program = MoveNarrowValues(BindTestProgram(test));
  ExpectSameMeaning(program, test);
  std::vector<std::string> names;
  for (const ir::Value& value : program.values) {
    const bool is_move = !std::holds_alternative<ir::Elementwise>(value.op);
    if (is_move && value.shape.type == DataType::kBFloat16) names.push_back(value.name);
  }
  return names;
}

TEST(MoveNarrowValues, TransposesAndReshapesIn16Bits) {
  EXPECT_THAT(Narrow("T[j, i : N, M] = =(V[i, j]); R = exp(T);"), UnorderedElementsAre("T_narrow"));
  EXPECT_THAT(Narrow("T[j, i : N, M] = +(V[i, j]); S = reshape(T, 3, 8); R = exp(S);"),
              UnorderedElementsAre("T_narrow", "S_narrow"));
}

TEST(MoveNarrowValues, ReadsTheMovedValueWhereItIsRoundedAgain) {
  EXPECT_THAT(Narrow("T[j, i : N, M] = =(V[i, j]); R = as_bfloat(T);"),
              UnorderedElementsAre("T_narrow"));
}

TEST(MoveNarrowValues, RoundsBeforeMovesWhoseReadersAllRound) {
  EXPECT_THAT(Narrow("T[j, i : N, M] = =(X[i, j]); S = reshape(T, 3, 8); R = as_bfloat(S);"),
              UnorderedElementsAre("T_narrow", "S_narrow"));
  EXPECT_THAT(Narrow("Y = exp(X); D[i, j : M, 2 * N] = =(Y[i, j]); R = as_bfloat(D);"),
              UnorderedElementsAre("D_narrow"));
}

TEST(MoveNarrowValues, LeavesMovesAloneThatOneReaderDoesNotRound) {
  EXPECT_THAT(Narrow("T[j, i : N, M] = =(X[i, j]); R = as_float(as_bfloat(T), 32) + T;"),
              IsEmpty());
  EXPECT_THAT(Narrow("T[j, i : N, M] = =(X[i, j]);"
                     " R = as_float(as_bfloat(T), 32) + as_float(as_float(T, 16), 32);"),
              IsEmpty());
}

TEST(MoveNarrowValues, ConcatenatesIn16Bits) {
  EXPECT_THAT(Narrow("D[i, j : M, 2 * N] = =(V[i, j]);"
                     " E[i, j + N : M, 2 * N] = =(W[i, j]) default D; R = E * 2;"),
              UnorderedElementsAre("D_narrow", "E_narrow"));
}

TEST(MoveNarrowValues, LeavesMovesOfOtherValuesAlone) {
  EXPECT_THAT(Narrow("T[j, i : N, M] = =(X[i, j]); R = exp(T) + as_float(as_float(1.0, 16), 32);"),
              IsEmpty());
  EXPECT_THAT(Narrow("D[i, j : M, 2 * N] = =(X[i, j]);"
                     " E[i, j + N : M, 2 * N] = =(W[i, j]) default D; R = E * 2;"),
              IsEmpty());
}

TEST(MoveNarrowValues, LeavesSumsAlone) {
  EXPECT_THAT(Narrow("S[i : M] = +(V[i, j]); R = S * 2;"), IsEmpty());
  EXPECT_THAT(Narrow("S[i + j : M + N - 1] = +(V[i, j]); R = S * 2;"), IsEmpty());
}

}  // namespace
}  // namespace tartan::graph::narrow_moves_test
