// SPDX-License-Identifier: Apache-2.0
// Tests that operations that only move elements need no kernel of their own if a view, the producer
// or the consumer can replace them. Compares the results with the naive evaluator.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/programs.h"
#include "tests/tile/testing.h"
#include "tile/compiler/compiler.h"

namespace tartan::compiler::moves_test {
namespace {

CompileOptions Gpu() {
  CompileOptions gpu;
  gpu.settings.threads = 32;
  gpu.settings.vector_width = 1;
  gpu.settings.has_local_memory = true;
  gpu.settings.max_work_group_size = 32;
  return gpu;
}

// Returns the number of launches, which must be equal on a CPU and a GPU. Expects the same results
// with every set of options.
int Launches(const TestProgram& program) {
  const ir::Program bound = BindTestProgram(program);
  CompileOptions ready;
  ready.tier = Tier::kReady;
  CompileOptions apart;
  apart.disabled_passes = {"fuse"};
  CompileOptions without;
  without.disabled_passes = {"views", "broadcasts"};
  for (const CompileOptions& options : {ready, apart, without}) {
    const auto list = Compile(bound, options);
    EXPECT_TRUE(list.ok()) << list.status();
    if (list.ok()) ExpectNaiveResults(program, *list);
  }
  std::vector<size_t> launches;
  for (const CompileOptions& options : {CompileOptions(), Gpu()}) {
    const auto list = Compile(bound, options);
    EXPECT_TRUE(list.ok()) << list.status();
    if (!list.ok()) return -1;
    ExpectNaiveResults(program, *list);
    launches.push_back(list->steps.size());
  }
  EXPECT_EQ(launches[0], launches[1]);
  return static_cast<int>(launches[0]);
}

// Attention's values: the context of all heads, as rows, times a matrix.
TestProgram Context(int64_t keys, int64_t queries, int64_t width) {
  return {"context",
          "function (P[B, H, S, T], V[B, H, T, D], W[N, O]) -> (R) {"
          " C[b, h, s, d : B, H, S, D] = +(P[b, h, s, t] * V[b, h, t, d]);"
          " X[b, s, h, d : B, S, H, D] = =(C[b, h, s, d]); Y = reshape(X, B, S, N);"
          " R[b, s, o : B, S, O] = +(Y[b, s, n] * W[n, o]); }",
          {F32({2, 3, queries, keys}), F32({2, 3, keys, width}), F32({3 * width, 8})}};
}

TEST(Moves, OfAProductsResultAreWrittenByItsKernel) {
  EXPECT_EQ(Launches(Context(9, 5, 16)), 2);
  EXPECT_EQ(Launches(Context(7, 4, 17)), 2);
}

TEST(Moves, ThatCutRowsAreKernels) { EXPECT_EQ(Launches(Context(9, 5, 8)), 3); }

TEST(Moves, OfDimensionsOfSizeOneAreViews) { EXPECT_EQ(Launches(Context(9, 1, 8)), 2); }

TEST(Moves, ThatAreViewsMayBeOutputs) {
  EXPECT_EQ(Launches({"outputs",
                      "function (A[M, N]) -> (E, T, C) { E = exp(A);"
                      " T[b, a : N, M] = =(E[a, b]); C[a, b : M, N] = =(A[a, b]); }",
                      {F32({1, 9})}}),
            1);
}

TEST(Moves, FollowTheOperationsBehindAProduct) {
  EXPECT_EQ(Launches({"scaled",
                      "function (A[H, S, K], B[H, K, D], U) -> (T) {"
                      " C[h, s, d : H, S, D] = +(A[h, s, k] * B[h, k, d]); E = relu(C + U);"
                      " Q = reshape(E, 1, H, S, D); T[n, s, h, d : 1, S, H, D] = =(Q[n, h, s, d]); "
                      "}",
                      {F32({3, 5, 6}), F32({3, 6, 32}), F32({32})}}),
            1);
}

TEST(Moves, AreKernelsWhereTheProductIsReadAsItIs) {
  EXPECT_EQ(Launches({"both",
                      "function (A[H, S, K], B[H, K, D]) -> (C, T) {"
                      " C[h, s, d : H, S, D] = +(A[h, s, k] * B[h, k, d]);"
                      " T[s, h, d : S, H, D] = =(C[h, s, d]); }",
                      {F32({3, 5, 6}), F32({3, 6, 32})}}),
            2);
}

TEST(Moves, OfWhatNoAffineMapDividesAreKernels) {
  EXPECT_EQ(Launches({"divided",
                      "function (A[S, K], B[K, N]) -> (T) {"
                      " C[s, n : S, N] = +(A[s, k] * B[k, n]); Q = reshape(C, S, 3, N / 3);"
                      " T[h, s, d : 3, S, N / 3] = =(Q[s, h, d]); }",
                      {F32({5, 6}), F32({6, 48})}}),
            2);
}

// Grouped-query attention: keys and values of two heads, each for three query heads. The program
// computes the keys.
TestProgram Grouped(const std::string& key) {
  return {"grouped",
          absl::StrCat("function (Q[H, S, D], K[G, T, D], V[G, T, D]) -> (C) { L = ", key,
                       "; KE[g, r, t, d : G, 3, T, D] = =(L[g, t, d]); KH = reshape(KE, H, T, D);"
                       " KT[h, d, t : H, D, T] = =(KH[h, t, d]);"
                       " VE[g, r, t, d : G, 3, T, D] = =(V[g, t, d]); VH = reshape(VE, H, T, D);"
                       " P[h, s, t : H, S, T] = +(Q[h, s, d] * KT[h, d, t]); E = P * 0.25;"
                       " C[h, s, d : H, S, D] = +(E[h, s, t] * VH[h, t, d]); }"),
          {F32({6, 5, 16}), F32({2, 7, 16}), F32({2, 7, 16})}};
}

TEST(Moves, ThatRepeatHeadsAreReadThrough) { EXPECT_EQ(Launches(Grouped("K")), 2); }

TEST(Moves, ThatRepeatWhatIsComputedKeepItOnce) {
  EXPECT_EQ(Launches(Grouped("exp(K) * K + sin(K)")), 3);
}

TEST(Moves, ThatRepeatElementsInsideRowsAreReadThrough) {
  EXPECT_EQ(Launches({"inside",
                      "function (A[S, K], X[K, M]) -> (C) {"
                      " XE[k, m, r : K, M, 2] = =(X[k, m]); XR = reshape(XE, K, 2 * M);"
                      " C[s, n : S, 2 * M] = +(A[s, k] * XR[k, n]); }",
                      {F32({5, 6}), F32({6, 9})}}),
            1);
}

TEST(Moves, ThatRepeatWhatIsAddedUpAreReadThrough) {
  EXPECT_EQ(Launches({"reduced",
                      "function (A[S, N], X[M, J]) -> (C) {"
                      " XE[r, m, j : 3, M, J] = =(X[m, j]); XR = reshape(XE, N, J);"
                      " C[s, j : S, J] = +(A[s, n] * XR[n, j]); }",
                      {F32({5, 12}), F32({4, 9})}}),
            1);
}

// Two steps of a recurrent network, each with a cell state and a hidden state.
TEST(Moves, AreNotNeededBetweenTwoStatesOfAStep) {
  EXPECT_EQ(Launches({"steps",
                      "function (C0, Z[B, H], W[H, G], Y) -> (H2) {"
                      " C1 = tanh(Z) * C0 + exp(Y); H1 = tanh(C1) * Z;"
                      " P[b, g : B, G] = +(H1[b, h] * W[h, g]);"
                      " C2 = tanh(P) * C1 + exp(Y); H2 = tanh(C2) * P + C2; }",
                      {F32({4, 32}), F32({4, 32}), F32({32, 32}), F32({4, 32})}}),
            3);
}

}  // namespace
}  // namespace tartan::compiler::moves_test
