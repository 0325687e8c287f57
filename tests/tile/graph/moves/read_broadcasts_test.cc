// SPDX-License-Identifier: Apache-2.0
// Tests which contractions read a tensor directly instead of its broadcast copy.
#include "tile/graph/moves/read_broadcasts.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/tile/graph/same_meaning.h"
#include "tests/tile/testing.h"

namespace tartan::graph::read_expansions_test {
namespace {

// Broadcasts X three times along a dimension after or before its first one.
TestProgram Repeated(const std::string& product, const std::string& repeated = "g, r") {
  const std::string sizes = repeated == "g, r" ? "G, 3" : "3, G";
  return {"test",
          absl::StrCat("function (A[H, S, K], X[G, K]) -> (C) { E[", repeated, ", k : ", sizes,
                       ", K] = =(X[g, k]); R = reshape(E, H, K); ", product, " }"),
          {F32({6, 5, 4}), F32({2, 4})}};
}

int Reshapes(const ir::Program& program) {
  int count = 0;
  for (const ir::Value& value : program.values) {
    const auto* special = std::get_if<ir::Special>(&value.op);
    if (special != nullptr && special->kind == ir::SpecialKind::kReshape) ++count;
  }
  return count;
}

// Returns whether the broadcast tensor was eliminated; checks that results stay the same.
bool IsReadThrough(const TestProgram& test) {
  const ir::Program original = BindTestProgram(test);
  const ir::Program program = ReadThroughBroadcasts(original);
  ExpectSameMeaning(program, test);
  bool has_merge = false;
  for (const ir::Value& value : program.values) has_merge = has_merge || value.name == "R";
  EXPECT_TRUE(!has_merge || program == original);
  return !has_merge && Reshapes(program) > 0;
}

TEST(ReadExpansions, SplitsTheIndexOfAProduct) {
  EXPECT_TRUE(IsReadThrough(Repeated("C[h, s : H, S] = +(A[h, s, k] * R[h, k]);")));
  EXPECT_TRUE(IsReadThrough(Repeated("C[h, s : H, S] = +(A[h, s, k] * R[h, k]);", "r, g")));
}

TEST(ReadExpansions, ReadsThroughTranspositions) {
  EXPECT_TRUE(IsReadThrough(
      Repeated("T[k, h : K, H] = =(R[h, k]); C[s, h : S, H] = +(T[k, h] * A[h, s, k]);")));
}

TEST(ReadExpansions, SplitsWhatIsAddedUp) {
  EXPECT_TRUE(IsReadThrough(Repeated("C[s, k : S, K] = +(A[h, s, k] * R[h, k]);")));
}

TEST(ReadExpansions, LeavesIndicesThatAreNotAlone) {
  EXPECT_FALSE(IsReadThrough(Repeated("C[h, s : H + S, S] = +(A[h - s, s, k] * R[h - s, k]);")));
  EXPECT_FALSE(IsReadThrough(Repeated("C[h, s : H, S] = +(A[h, s, k] * R[h, k]), h + s < 7;")));
}

TEST(ReadExpansions, LeavesWhatIsMergedAndNotRepeated) {
  const TestProgram merged = {"test",
                              "function (A[H, S, K], X[G, L, K]) -> (C) { R = reshape(X, H, K);"
                              " C[h, s : H, S] = +(A[h, s, k] * R[h, k]); }",
                              {F32({6, 5, 4}), F32({2, 3, 4})}};
  EXPECT_FALSE(IsReadThrough(merged));
}

}  // namespace
}  // namespace tartan::graph::read_expansions_test
