// SPDX-License-Identifier: Apache-2.0
// The examples of the Tile tutorial, with results computed by hand.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tile/ir/run_tile.h"

namespace tartan::ir {
namespace {

using ::testing::ElementsAre;

TEST(Tutorial, SumOverAxis) {
  EXPECT_THAT(RunTile("function (I[M, N]) -> (O) { O[n: N] = +(I[m, n]); }",
                      {Floats({2, 3}, {1, 2, 3, 10, 20, 30})})
                  .ToDoubles(),
              ElementsAre(11, 22, 33));
}

TEST(Tutorial, OutputLargerThanInputIsPaddedWithZero) {
  EXPECT_THAT(RunTile("function (I[M, N]) -> (O) { O[n: N+1] = +(I[m, n]); }",
                      {Floats({2, 2}, {1, 2, 3, 4})})
                  .ToDoubles(),
              ElementsAre(4, 6, 0));
}

TEST(Tutorial, OutputSmallerThanInputIsTruncated) {
  EXPECT_THAT(RunTile("function (I[M, N]) -> (O) { O[n: N-1] = +(I[m, n]); }",
                      {Floats({2, 2}, {1, 2, 3, 4})})
                  .ToDoubles(),
              ElementsAre(4));
}

TEST(Tutorial, MatrixMultiplication) {
  const HostTensor result =
      RunTile("function (A[M, L], B[L, N]) -> (C) { C[i, j: M, N] = +(A[i, k] * B[k, j]); }",
              {Floats({2, 3}, {1, 2, 3, 4, 5, 6}), Floats({3, 2}, {7, 8, 9, 10, 11, 12})});
  EXPECT_EQ(result.shape().ToString(), "float32[2, 2]");
  EXPECT_THAT(result.ToDoubles(), ElementsAre(58, 64, 139, 154));
}

TEST(Tutorial, RepeatedSizesMustAgree) {
  const std::string square = "function (A[N, N]) -> (B) { B[i : N] = +(A[i, i]); }";
  EXPECT_THAT(RunTile(square, {Floats({2, 2}, {1, 2, 3, 4})}).ToDoubles(), ElementsAre(1, 4));
  EXPECT_FALSE(RunAll(square, {Floats({1, 2}, {1, 2})}).ok());
}

TEST(Tutorial, MaxOverAxis) {
  EXPECT_THAT(RunTile("function (I[M, N]) -> (O) { O[n: N] = >(I[m, n]); }",
                      {Floats({2, 2}, {-1, -2, -3, 4})})
                  .ToDoubles(),
              ElementsAre(-1, 4));
}

TEST(Tutorial, GlobalMin) {
  const HostTensor input = Floats({1, 2, 2}, {3, -7, 5, 2});
  const HostTensor result =
      RunTile("function (I) -> (O) { Neg = -I; O_Neg[] = >(Neg[i, j, k]); O = -O_Neg; }", {input});
  EXPECT_EQ(result.shape().rank(), 0);
  EXPECT_THAT(result.ToDoubles(), ElementsAre(-7));
}

TEST(Tutorial, Mean) {
  EXPECT_THAT(RunTile("function (I[X, Y]) -> (O) { Sum[y: Y] = +(I[x, y]); O = Sum / X; }",
                      {Floats({2, 2}, {1, 2, 4, 8})})
                  .ToDoubles(),
              ElementsAre(2.5, 5));
  EXPECT_THAT(RunTile("function (I[X, Y]) -> (O) { Sum[] = +(I[x, y]); O = Sum / (X * Y); }",
                      {Floats({2, 2}, {1, 2, 4, 8})})
                  .ToDoubles(),
              ElementsAre(3.75));
}

TEST(Tutorial, MaxPoolWithoutAConstraintSeesEverything) {
  EXPECT_THAT(RunTile("function (I[N]) -> (O) { O[i: N / 2] = >(I[2 * i + j]); }",
                      {Floats({5}, {3, 1, 9, 2, 4})})
                  .ToDoubles(),
              ElementsAre(9, 9));
}

TEST(Tutorial, MaxPoolRoundsDownOrUp) {
  const HostTensor input = Floats({5}, {3, 1, 2, 9, 4});
  EXPECT_THAT(RunTile("function (I[N]) -> (O) { O[i: N / 2] = >(I[2 * i + j]), j < 2; }", {input})
                  .ToDoubles(),
              ElementsAre(3, 9));
  EXPECT_THAT(
      RunTile("function (I[N]) -> (O) { O[i: (N + 1) / 2] = >(I[2 * i + j]), j < 2; }", {input})
          .ToDoubles(),
      ElementsAre(3, 9, 4));
}

TEST(Tutorial, SkippedElementsAreZero) {
  EXPECT_THAT(RunTile("function (I[N, M]) -> (O) { O[2 * i: N] = +(I[2 * i, j]); }",
                      {Floats({3, 2}, {1, 2, 4, 8, 16, 32})})
                  .ToDoubles(),
              ElementsAre(3, 0, 48));
}

TEST(Tutorial, CumulativeSumInBothForms) {
  const HostTensor input = Floats({4}, {1, 2, 3, 4});
  EXPECT_THAT(
      RunTile("function (I[N]) -> (O) { O[i: N] = +(I[k]), i - k < N; }", {input}).ToDoubles(),
      ElementsAre(1, 3, 6, 10));
  EXPECT_THAT(
      RunTile("function (I[N]) -> (O) { O[i: N] = +(I[i - j]), j < N; }", {input}).ToDoubles(),
      ElementsAre(1, 3, 6, 10));
}

TEST(Tutorial, Convolution1D) {
  const HostTensor result = RunTile(
      "function (I[N, L, CI], K[LK, CI, CO]) -> (O) {"
      "  O[n, x, co: N, L - LK + 1, CO] = +(I[n, x + k, ci] * K[k, ci, co]); }",
      {Floats({1, 4, 1}, {1, 2, 3, 4}), Floats({2, 1, 2}, {1, 10, 100, 1000})});
  EXPECT_EQ(result.shape().ToString(), "float32[1, 3, 2]");
  EXPECT_THAT(result.ToDoubles(), ElementsAre(201, 2010, 302, 3020, 403, 4030));
}

TEST(Tutorial, DilatedConvolution2D) {
  // Ones everywhere: each output counts the taps. The input is 4 × 5, the dilated kernel 3 × 4.
  const HostTensor result = RunTile(
      "function (I[N, Lx, Ly, CI], K[LKx, LKy, CI, CO]) -> (O) {"
      "  O[n, x, y, co: N, Lx - 2 * (LKx - 1), Ly - 3 * (LKy - 1), CO] ="
      "      +(I[n, x + 2 * kx, y + 3 * ky, ci] * K[kx, ky, ci, co]); }",
      {Floats({1, 4, 5, 1}, std::vector<float>(20, 1)), Floats({2, 2, 1, 1}, {1, 1, 1, 1})});
  EXPECT_EQ(result.shape().ToString(), "float32[1, 2, 2, 1]");
  EXPECT_THAT(result.ToDoubles(), ElementsAre(4, 4, 4, 4));
}

TEST(Tutorial, ConditionalIsElementwise) {
  EXPECT_THAT(RunTile("function (C, T, E) -> (O) { O = C ? T : E; }",
                      {Floats({3}, {1, 0, -2}), Floats({3}, {1, 2, 3}), Floats({3}, {4, 5, 6})})
                  .ToDoubles(),
              ElementsAre(1, 5, 3));
}

}  // namespace
}  // namespace tartan::ir
