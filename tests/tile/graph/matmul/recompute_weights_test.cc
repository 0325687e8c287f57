// SPDX-License-Identifier: Apache-2.0
// Tests which attention weights are computed again for the backward pass.
#include "tile/graph/matmul/recompute_weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/tile/graph/same_meaning.h"
#include "tests/tile/testing.h"

namespace tartan::graph {
namespace {

// Attention with logits L of scores P, followed by `rest`. G is a target for the result O.
TestProgram Attention(const std::string& outputs, const std::string& rest,
                      const std::string& logits = "P * 0.5") {
  return {
      "attention",
      absl::StrCat("function (Q[B, T, D], K[B, U, D], V[B, U, D], G[B, T, D], MASK[T, U]) -> (",
                   outputs, ") { P[b, t, u : B, T, U] = +(Q[b, t, d] * K[b, u, d]); L = ", logits,
                   "; M[b, t, 0 : B, T, 1] = >(L[b, t, u]); E = exp(L - M); "
                   "S[b, t, 0 : B, T, 1] = +(E[b, t, u]); W = E / S; "
                   "O[b, t, d : B, T, D] = +(W[b, t, u] * V[b, u, d]); ",
                   rest, " }"),
      {F32({2, 5, 3}), F32({2, 4, 3}), F32({2, 4, 3}), F32({2, 5, 3}), F32({5, 4})}};
}

constexpr char kBackward[] =
    "DO = O - G; DV[b, u, d : B, U, D] = +(W[b, t, u] * DO[b, t, d]); "
    "DW[b, t, u : B, T, U] = +(DO[b, t, d] * V[b, u, d]); "
    "X[b, t, 0 : B, T, 1] = +(DW[b, t, u] * W[b, t, u]); DL = W * (DW - X); "
    "DQ[b, t, d : B, T, D] = +(DL[b, t, u] * K[b, u, d]); "
    "DK[b, u, d : B, U, D] = +(DL[b, t, u] * Q[b, t, d]);";

// Names of the values that the pass has added, in order.
std::vector<std::string> Copies(const ir::Program& program) {
  std::vector<std::string> names;
  for (const ir::Value& value : program.values) {
    if (absl::EndsWith(value.name, "_again")) names.push_back(value.name);
  }
  return names;
}

void ExpectCopies(const TestProgram& test, const std::vector<std::string>& names) {
  const ir::Program program = RecomputeWeights(BindTestProgram(test), 0);
  ExpectSameMeaning(program, test);
  const std::vector<std::string> copies = Copies(program);
  for (const std::string& name : names) {
    EXPECT_EQ(std::count(copies.begin(), copies.end(), name), 1) << name;
  }
  EXPECT_EQ(copies.empty(), names.empty());
}

TEST(RecomputeWeights, GivesGradientsACopyFromRowMaximaAndSums) {
  ExpectCopies(Attention("O, DQ, DK, DV", kBackward), {"P_again", "E_again", "W_again"});
  ExpectCopies(Attention("O, DQ, DK, DV", kBackward, "P * 0.5 + MASK"),
               {"P_again", "E_again", "W_again"});
  const ir::Program program =
      RecomputeWeights(BindTestProgram(Attention("O, DQ, DK, DV", kBackward)), 0);
  const std::vector<std::string> copies = Copies(program);
  EXPECT_EQ(std::count(copies.begin(), copies.end(), "M_again"), 0);
  EXPECT_EQ(std::count(copies.begin(), copies.end(), "S_again"), 0);
}

TEST(RecomputeWeights, LeavesInferenceAlone) {
  ExpectCopies(Attention("O", ""), {});
  // The weights are read again, but their reader does not follow the attention.
  ExpectCopies(Attention("O, R", "R = W + 1;"), {});
}

TEST(RecomputeWeights, LeavesSmallWeightsAlone) {
  const ir::Program program = BindTestProgram(Attention("O, DQ, DK, DV", kBackward));
  const int64_t bytes = 2 * 5 * 4 * 4;
  EXPECT_EQ(RecomputeWeights(program, bytes + 1), program);
  EXPECT_NE(RecomputeWeights(program, bytes), program);
}

// The scores of a classifier come from a matrix that all rows share.
TEST(RecomputeWeights, LeavesClassifiersAlone) {
  ExpectCopies({"classifier",
                "function (X[N, D], C[D, U], V[U, D], G[N, D]) -> (DV) { "
                "P[n, u : N, U] = +(X[n, d] * C[d, u]); M[n, 0 : N, 1] = >(P[n, u]); "
                "E = exp(P - M); S[n, 0 : N, 1] = +(E[n, u]); W = E / S; "
                "O[n, d : N, D] = +(W[n, u] * V[u, d]); DO = O - G; "
                "DV[u, d : U, D] = +(W[n, u] * DO[n, d]); }",
                {F32({6, 3}), F32({3, 4}), F32({4, 3}), F32({6, 3})}},
               {});
}

}  // namespace
}  // namespace tartan::graph
