// SPDX-License-Identifier: Apache-2.0
// Tests which operations only move elements.
#include "tile/graph/moves/moves_elements.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/tile/compiler/programs.h"

namespace tartan::graph {
namespace {

// Returns whether the operation that computes R moves elements.
bool Moves(const std::string& statement) {
  const ir::Program program =
      BindTestProgram({"Move",
                       "function (A[M, N], B[M, N]) -> (R) { " + statement + " }",
                       {F32({4, 6}), F32({4, 6})}});
  return MovesElements(program.values[program.outputs[0]]);
}

TEST(MovesElements, HoldsForTransposesSlicesPaddingAndReshapes) {
  EXPECT_TRUE(Moves("R[j, i : N, M] = =(A[i, j]);"));
  EXPECT_TRUE(Moves("R[i, j : M, 2] = =(A[i, 2 * j + 1]);"));
  EXPECT_TRUE(Moves("R[i + 1, j : M + 2, N] = =(A[i, j]);"));
  EXPECT_TRUE(Moves("R[i, j : M, N] = =(A[i, j]) default B;"));
  EXPECT_TRUE(Moves("R = reshape(A, 24);"));
}

TEST(MovesElements, HoldsForSumsOfOneElementEach) {
  EXPECT_TRUE(Moves("R[j, i : N, M] = +(A[i, j]);"));
  EXPECT_FALSE(Moves("R[i : M] = +(A[i, j]);"));
  EXPECT_FALSE(Moves("R[i + j : M + N] = +(A[i, j]);"));
}

TEST(MovesElements, FailsForOtherOperations) {
  EXPECT_FALSE(Moves("R = A + B;"));
  EXPECT_FALSE(Moves("R[i, j : M, N] = >(A[i, j]);"));
  EXPECT_FALSE(Moves("R[i, j : M, N] = =(A[i, j] * B[i, j]);"));
}

}  // namespace
}  // namespace tartan::graph
