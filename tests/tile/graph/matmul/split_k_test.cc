// SPDX-License-Identifier: Apache-2.0
// Tests split-K: results stay the same, and which matmuls may be split.
#include "tile/graph/matmul/split_k.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/tile/compiler/matrix_programs.h"
#include "tests/tile/compiler/programs.h"
#include "tile/graph/rewriter.h"
#include "tile/ir/naive_evaluator.h"
#include "tile/ir/verify_stored.h"

namespace tartan::graph {
namespace {

// Returns the first value with this name.
ir::ValueId Named(const ir::Program& program, const std::string& name) {
  for (size_t v = 0; v < program.values.size(); ++v) {
    if (program.values[v].name == name) return static_cast<ir::ValueId>(v);
  }
  return ir::kNoValue;
}

// Splits the matmul P into several K chunks. Inputs are integers, so all sums are exact.
void ExpectSameSums(const MatrixProgram& test, int64_t depth) {
  const auto [program, inputs, expected] = CaseOf(test);
  const ir::ValueId product = Named(program, "P");
  ASSERT_NE(product, ir::kNoValue);
  ASSERT_EQ(ReducedExtent(program, product), depth);
  for (const int64_t runs : {2, 3, 6}) {
    const SplitKMatmuls split = SplitK(program, {{product, runs}});
    EXPECT_TRUE(ir::VerifyStored(split.program).ok()) << ir::VerifyStored(split.program);
    ASSERT_EQ(split.numbers.size(), program.values.size());
    const ir::Value& sum = split.program.values[split.numbers[product]];
    EXPECT_EQ(sum.name, "P");
    EXPECT_EQ(sum.shape, program.values[product].shape);
    const ir::Value& parts = split.program.values[Named(split.program, "P_runs")];
    EXPECT_EQ(parts.shape.dims.front(), runs);
    const auto actual = ir::EvaluateNaively(split.program, inputs);
    ASSERT_TRUE(actual.ok()) << actual.status();
    ASSERT_EQ(actual->size(), expected.size());
    for (size_t o = 0; o < expected.size(); ++o) {
      EXPECT_EQ(FirstDifference((*actual)[o], expected[o], 0), "") << test.name << " in " << runs;
    }
  }
}

TEST(SplitK, KeepsSums) {
  ExpectSameSums({"Plain",
                  "function (A[M, L], B[L, N], C) -> (R, P) { P[i, j : M, N] = +(A[i, k] * B[k, "
                  "j]); R = P + C; }",
                  {{5, 12}, {12, 7}, {7}}},
                 12);
  ExpectSameSums({"WeightsByColumns",
                  "function (A[E, M, L], B[N, L]) -> (P) { P[e, i, j : E, M, N] = +(A[e, i, k] * "
                  "B[j, k]); }",
                  {{2, 3, 18}, {5, 18}}},
                 18);
  ExpectSameSums({"Batch",
                  "function (A[E, M, L], B[E, L, N]) -> (P) { P[e, i, j : E, M, N] = +(A[e, i, k] "
                  "* B[e, k, j]); }",
                  {{2, 3, 6}, {2, 6, 5}}},
                 6);
}

// Cases: one factor is longer than the other, one is read with a stride, and a constraint applies.
TEST(SplitK, KeepsSumsOfPartsOfFactors) {
  ExpectSameSums({"Longer",
                  "function (A[M, L], B[K, N]) -> (P) { P[i, j : M, N] = +(A[i, k] * B[k, j]); }",
                  {{5, 12}, {7, 4}}},
                 12);
  ExpectSameSums({"Shifted",
                  "function (A[M, L], B[K, N]) -> (P) { P[i, j : M, N] = +(A[i, k] * B[2*k+1, j]); "
                  "}",
                  {{5, 12}, {25, 4}}},
                 12);
  ExpectSameSums({"Triangle",
                  "function (A[M, L], B[L, N]) -> (P) { P[i, j : M, N] = +(A[i, k] * B[k, j]), k - "
                  "i < 5; }",
                  {{7, 12}, {12, 4}}},
                 12);
}

bool Feeds(const std::string& code, DataType type = DataType::kFloat32) {
  const ir::Program program = Bind({"test", code, {{5, 12}, {12, 7}, {5, 7}}, {false, true}, type});
  return FeedsRowReduction(program, UsersOf(program), Named(program, "P"));
}

constexpr char kSummed[] =
    "function (A[M, L], B[L, N], C) -> (R) { P[i, j : M, N] = +(A[i, k] * B[k, j]); ";

TEST(FeedsRowReduction, IsTrueOfWhatLeadsToANormalisation) {
  EXPECT_TRUE(Feeds(std::string(kSummed) + "S[i : M] = +(P[i, j]); R = S; }"));
  EXPECT_TRUE(Feeds(std::string(kSummed) +
                    "E = P + C; F = E * E; S[i, o : M, 1] = +(F[i, j]); R = E / S; }"));
  EXPECT_TRUE(Feeds(std::string(kSummed) + "S[i, o : M, 1] = >(P[i, j]); R = exp(P - S); }"));
  EXPECT_TRUE(Feeds(std::string(kSummed) + "S[i : M] = +(P[i, j] * P[i, j]); R = S; }"));
}

TEST(FeedsRowReduction, IsFalseElsewhere) {
  EXPECT_FALSE(Feeds(std::string(kSummed) + "R = P + C; }"));
  // Another matmul reads P.
  EXPECT_FALSE(Feeds(std::string(kSummed) + "E = P + C; R[i, h : M, M] = +(E[i, j] * C[h, j]); }"));
  // P's columns are reduced, as for the gradient of a bias.
  EXPECT_FALSE(Feeds(std::string(kSummed) + "S[j : N] = +(P[i, j]); R = S; }"));
  // P is only transposed.
  EXPECT_FALSE(Feeds(std::string(kSummed) + "R[j, i : N, M] = =(P[i, j]); }"));
  // P is not a matmul, has two reduced indices, another aggregation, or another type.
  EXPECT_FALSE(Feeds(
      "function (A[M, L], B[L, N], C) -> (R) { P[i, k : M, L] = +(A[i, k] * A[i, k]); S[i : M] "
      "= +(P[i, k]); R = S; }"));
  EXPECT_FALSE(Feeds(
      "function (A[M, L], B[L, N], C[M, N]) -> (R) { P[i, j : M, N] = +(A[i, k + l] * B[k + l, "
      "j]), l < 2; S[i : M] = +(P[i, j]); R = S; }"));
  EXPECT_FALSE(Feeds(
      "function (A[M, L], B[L, N], C) -> (R) { P[i, j : M, N] = >(A[i, k] * B[k, j]); S[i : M] "
      "= +(P[i, j]); R = S; }"));
  EXPECT_FALSE(Feeds(std::string(kSummed) + "S[i : M] = +(P[i, j]); R = S; }", DataType::kFloat16));
}

}  // namespace
}  // namespace tartan::graph
