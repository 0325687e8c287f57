// SPDX-License-Identifier: Apache-2.0
// Tests which consumers of a concatenation read its parts directly.
#include "tile/graph/moves/read_pieces.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/tile/graph/same_meaning.h"
#include "tests/tile/testing.h"

namespace tartan::graph::read_pieces_test {
namespace {

// C concatenates A (rows 0 and 1) and B (rows 2 to 4). Returns whether C was eliminated; checks
// that results stay the same.
bool IsGone(const std::string& readers, const std::string& outputs = "R") {
  const TestProgram test = {"test",
                            absl::StrCat("function (A[M, N], B[L, N]) -> (", outputs,
                                         ") { D[i, j : M + L, N] = =(A[i, j]);"
                                         " C[i + M, j : M + L, N] = =(B[i, j]) default D; ",
                                         readers, " }"),
                            {F32({2, 4}), F32({3, 4})}};
  const ir::Program original = BindTestProgram(test);
  const ir::Program program = ReadPieces(original);
  ExpectSameMeaning(program, test);
  for (const ir::Value& value : program.values) {
    if (value.name == "C") {
      EXPECT_EQ(program, original);
      return false;
    }
  }
  return true;
}

TEST(ReadPieces, ReadsARowOfAPiece) {
  EXPECT_TRUE(IsGone("R[j : N] = =(C[4, j]);"));
  EXPECT_TRUE(IsGone("R[j : N] = =(C[1, j]);"));
}

TEST(ReadPieces, ReadsSeveralPartsOfSeveralPieces) {
  EXPECT_TRUE(IsGone("S[i, j : 2, N] = =(C[i, j]); T[i, j : 2, N] = =(C[i + 3, j]); R = S * T;"));
  EXPECT_TRUE(IsGone("R[j, i : N, 2] = =(C[i + 2, j]);"));
}

TEST(ReadPieces, ReadsInContractions) {
  EXPECT_TRUE(IsGone("R[i, l : 2, N] = +(C[i, j] * B[l, j]);"));
}

TEST(ReadPieces, ReadsThroughViewsWithOtherDimensionsOfSizeOne) {
  EXPECT_TRUE(IsGone("V = reshape(C, 1, M + L, 1, N); R[i, j : 1, N] = =(V[i, 3, 0, j]);"));
  EXPECT_FALSE(IsGone("V = reshape(C, (M + L) * N); R[i : N] = =(V[i + 8]);"));
}

TEST(ReadPieces, LeavesWhatIsReadAsAWhole) {
  EXPECT_FALSE(IsGone("R[j : N] = +(C[i, j]);"));
  EXPECT_FALSE(IsGone("R[i, j : 2, N] = =(C[i + 1, j]);"));
  EXPECT_FALSE(IsGone("S[j : N] = =(C[4, j]); R = exp(C) + S;"));
  EXPECT_FALSE(IsGone("R[j : N] = =(C[4, j]);", "R, C"));
}

TEST(ReadPieces, StaysWithinWhatIsThere) {
  // Some of these rows are outside C and read nothing.
  EXPECT_TRUE(IsGone("R[i, j : 4, N] = =(C[i + 3, j]);"));
  EXPECT_TRUE(IsGone("R[i, j : 4, N] = =(C[i - 2, j]);"));
}

}  // namespace
}  // namespace tartan::graph::read_pieces_test
