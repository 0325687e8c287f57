// SPDX-License-Identifier: Apache-2.0
// Tests in-place concatenation: each reduction's kernel writes its part of the result if the part
// has no other reader. Compares the results with the naive evaluator.
#include "tile/graph/placements/pieces.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/programs.h"
#include "tests/tile/testing.h"
#include "tile/compiler/compiler.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::compiler::pieces_test {
namespace {

CompileOptions Gpu() {
  CompileOptions gpu;
  gpu.settings.threads = 32;
  gpu.settings.vector_width = 1;
  gpu.settings.has_local_memory = true;
  gpu.settings.max_work_group_size = 32;
  return gpu;
}

// Returns the number of launches on a CPU. Expects the same results with every set of options.
int Launches(const TestProgram& program) {
  const ir::Program bound = BindTestProgram(program);
  CompileOptions ready;
  ready.tier = Tier::kReady;
  CompileOptions apart;
  apart.disabled_passes = {"fuse"};
  for (const CompileOptions& options : {ready, Gpu(), apart}) {
    const auto list = Compile(bound, options);
    EXPECT_TRUE(list.ok()) << list.status();
    if (list.ok()) ExpectNaiveResults(program, *list);
  }
  const auto list = Compile(bound, CompileOptions());
  EXPECT_TRUE(list.ok()) << list.status();
  if (!list.ok()) return -1;
  ExpectNaiveResults(program, *list);
  return static_cast<int>(list->steps.size());
}

// P and Q are matmuls; the statements `made` read them.
TestProgram Products(const std::string& made, const std::string& outputs = "C") {
  return {"products",
          absl::StrCat("function (A[M, K], X[K, N], Y[K, L], B) -> (", outputs,
                       ") { P[i, j : M, N] = +(A[i, k] * X[k, j]); "
                       "Q[i, j : M, L] = +(A[i, k] * Y[k, j]); ",
                       made, " }"),
          {F32({5, 7}), F32({7, 19}), F32({7, 6}), F32({5, 1})}};
}

TEST(Pieces, AreWrittenByTheKernelsOfTheirSums) {
  EXPECT_EQ(Launches(Products("R = relu(P + B); S = exp(Q) * Q;"
                              "D[i, j : M, N + L] = =(R[i, j]);"
                              "C[i, j + N : M, N + L] = =(S[i, j]) default D;")),
            2);
}

// The importer's form: the input's index is an expression of the output's index.
TEST(Pieces, MayBeReadAtMovedPlaces) {
  EXPECT_EQ(Launches(Products("D[i, j : M, N + L] = =(P[i, j]);"
                              "C[i, j : M, N + L] = =(Q[i, j - N]) default D;")),
            2);
}

TEST(Pieces, MayChangeTheOrderOfDimensions) {
  EXPECT_EQ(Launches(Products("D[j, i : N + L, M] = =(P[i, j]);"
                              "C[j + N, i : N + L, M] = =(Q[i, j]) default D;")),
            2);
}

TEST(Pieces, AreReadByWhatFollows) {
  EXPECT_EQ(Launches(Products("R = relu(P); D[i, j : M, N + L] = =(R[i, j]);"
                              "E[i, j + N : M, N + L] = =(Q[i, j]) default D; F = E * 2;"
                              "C[i : M] = +(F[i, j]);")),
            3);
}

TEST(Pieces, AreCopiedWhereSomethingElseReadsTheSum) {
  EXPECT_EQ(Launches(Products("R = relu(P); D[i, j : M, N + L] = =(R[i, j]);"
                              "C[i, j + N : M, N + L] = =(Q[i, j]) default D; E = R * 2;",
                              "C, E")),
            3);
  EXPECT_EQ(Launches(Products("D[i, j : M, N + L] = =(P[i, j]);"
                              "C[i, j + N : M, N + L] = =(Q[i, j]) default D;",
                              "C, P")),
            3);
}

TEST(Pieces, AreOneKernelWhereFewAreSums) {
  EXPECT_EQ(Launches({"inputs",
                      "function (A[M, K], X[K, N], Y, Z) -> (C) {"
                      "P[i, j : M, N] = +(A[i, k] * X[k, j]); D[i, j : M, 3 * N] = =(P[i, j]);"
                      "E[i, j + N : M, 3 * N] = =(Y[i, j]) default D;"
                      "C[i, j + 2 * N : M, 3 * N] = =(Z[i, j]) default E; }",
                      {F32({5, 7}), F32({7, 4}), F32({5, 4}), F32({5, 4})}}),
            2);
}

// The remaining elements are 0 or come from a given tensor.
TEST(Pieces, MayLeaveARest) {
  Launches(
      Products("D[i, j : M, N + L + 2] = =(P[i, j]);"
               "C[i, j + N : M, N + L + 2] = =(Q[i, j]) default D;"));
  Launches(
      Products("D[i, j : M, N + L + 2] = =(B[i, 0]), j < N + L + 2;"
               "E[i, j + 1 : M, N + L + 2] = =(P[i, j]) default D;"
               "C[i, j + N + 1 : M, N + L + 2] = =(Q[i, j]) default E;"));
}

TEST(Pieces, MayBePartsOfPieces) {
  Launches(
      Products("D[i, j : M, N + L] = =(P[i, j]);"
               "E[i, j + N : M, N + L] = =(Q[i, j]) default D;"
               "F[i, j : M, N + 2 * L] = =(E[i, j]); G = exp(Q);"
               "C[i, j + N + L : M, N + 2 * L] = =(G[i, j]) default F;"));
}

TEST(Pieces, MayBeConvolutionsByWinogradsAlgorithm) {
  const TestProgram test = {
      "convolutions",
      "function (X[N, C, H, W], K[O, C, 3, 3], L[P, C, 1, 1]) -> (S) {"
      "A[n, o, y, x : N, O, H, W] = +(X[n, c, y + i - 1, x + j - 1] * K[o, c, i, j]);"
      "B[n, o, y, x : N, P, H, W] = +(X[n, c, y, x] * L[o, c, 0, 0]);"
      "D = relu(A); E = relu(B); F[n, o, y, x : N, O + P, H, W] = =(D[n, o, y, x]);"
      "R[n, o + O, y, x : N, O + P, H, W] = =(E[n, o, y, x]) default F; S[n, y, x : N, H, W] = "
      "+(R[n, o, y, x]); }",
      {F32({1, 32, 18, 18}), F32({32, 32, 3, 3}), F32({16, 32, 1, 1})}};
  ir::Program program = BindTestProgram(test);
  for (const int weights : {1, 2}) {
    std::get<ir::Input>(program.values[program.inputs[weights]].op).is_constant = true;
  }
  const std::vector<HostTensor> inputs = RandomInputs(test, 1);
  const auto expected = ir::EvaluateNaively(program, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  for (const plan::Winograd winograd : {plan::Winograd::kNever, plan::Winograd::kAlways}) {
    CompileOptions options;
    options.winograd = winograd;
    const auto list = Compile(program, options);
    ASSERT_TRUE(list.ok()) << list.status();
    // Winograd's rounding errors are relative to the largest terms of the sums.
    const auto actual = InterpretList(*list, inputs);
    ASSERT_TRUE(actual.ok()) << actual.status();
    for (int64_t i = 0; i < actual->front().element_count(); ++i) {
      ASSERT_NEAR(actual->front().GetDouble(i), expected->front().GetDouble(i), 1e-3) << i;
    }
    EXPECT_EQ(list->steps.size(), winograd == plan::Winograd::kNever ? 4 : 6);
  }
}

}  // namespace
}  // namespace tartan::compiler::pieces_test
