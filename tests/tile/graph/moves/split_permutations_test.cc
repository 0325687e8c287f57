// SPDX-License-Identifier: Apache-2.0
// Tests which permutations between two reshapes become a permutation of the dimensions that both
// reshapes share.
#include "tile/graph/moves/split_permutations.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/tile/graph/same_meaning.h"

namespace tartan::graph::split_permutations_test {
namespace {

// Returns whether the pass changes the program; checks that results stay the same.
bool IsSplit(const std::string& body, std::vector<int64_t> dims) {
  const TestProgram test = {"test",
                            absl::StrCat("function (A) -> (R) { ", body, " }"),
                            {{DataType::kFloat32, std::move(dims)}}};
  const ir::Program original = BindTestProgram(test);
  const ir::Program program = SplitPermutations(original);
  ExpectSameMeaning(program, test);
  return !(program == original);
}

TEST(SplitPermutations, TakesHeadsOfABatchApart) {
  EXPECT_TRUE(
      IsSplit("M = reshape(A, 5, 12, 2); P[h, r, c : 12, 5, 2] = =(M[r, h, c]);"
              "R = reshape(P, 3, 4, 5, 2);",
              {5, 3, 8}));
  EXPECT_TRUE(
      IsSplit("M = reshape(A, 5, 12, 2); P[c, h, r : 2, 12, 5] = =(M[r, h, c]);"
              "R = reshape(P, 2, 3, 4, 5);",
              {5, 3, 8}));
}

TEST(SplitPermutations, LooksThroughDimensionsOfOneElement) {
  EXPECT_TRUE(
      IsSplit("M = reshape(A, 1, 5, 12, 2); P[o, h, r, c : 1, 12, 5, 2] = =(M[o, r, h, c]);"
              "R = reshape(P, 3, 4, 1, 5, 2);",
              {5, 1, 3, 8}));
}

TEST(SplitPermutations, FollowsOneAnother) {
  EXPECT_TRUE(
      IsSplit("M = reshape(A, 5, 12, 2); P[h, r, c : 12, 5, 2] = =(M[r, h, c]);"
              "Q[h, c, r : 12, 2, 5] = =(P[h, r, c]); R = reshape(Q, 3, 4, 2, 5);",
              {5, 3, 8}));
}

// These permutations already have split dimensions.
TEST(SplitPermutations, LeavesWhatIsSplitAlone) {
  EXPECT_FALSE(
      IsSplit("M = reshape(A, 5, 4, 2); P[h, r, c : 4, 5, 2] = =(M[r, h, c]);"
              "R = reshape(P, 2, 2, 5, 2);",
              {5, 8}));
}

TEST(SplitPermutations, LeavesDimensionsThatHaveNoCommonOnes) {
  // The factors of 6 = 2 * 3 and 12 = 4 * 3 do not align.
  EXPECT_FALSE(
      IsSplit("M = reshape(A, 6, 4); P[b, a : 4, 6] = =(M[a, b]); R = reshape(P, 2, 12);", {4, 6}));
  // A merged dimension that stays merged needs no split.
  EXPECT_FALSE(
      IsSplit("M = reshape(A, 5, 12, 2); P[h, r, c : 12, 5, 2] = =(M[r, h, c]);"
              "R = reshape(P, 12, 10);",
              {5, 3, 8}));
  EXPECT_FALSE(
      IsSplit("M = reshape(A, 5, 12, 2); P[h, r, c : 12, 5, 2] = =(M[r, h, c]);"
              "R = reshape(P, 4, 3, 5, 2);",
              {5, 3, 8}));
}

TEST(SplitPermutations, LeavesWhatIsReadInTheMiddle) {
  EXPECT_FALSE(
      IsSplit("M = reshape(A, 5, 12, 2); P[h, r, c : 12, 5, 2] = =(M[r, h, c]);"
              "Q = reshape(P, 3, 4, 5, 2); S[] = +(P[h, r, c]); R = Q + S;",
              {5, 3, 8}));
}

}  // namespace
}  // namespace tartan::graph::split_permutations_test
