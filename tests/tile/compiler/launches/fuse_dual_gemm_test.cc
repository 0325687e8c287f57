// SPDX-License-Identifier: Apache-2.0
// Tests the dual-GEMM fusion of gated linear units: which matmuls share a launch, bit by bit
// exactly.
#include "tile/compiler/launches/fuse_dual_gemm.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/matrix_programs.h"

namespace tartan::compiler::pair_products_test {
namespace {

KernelList Compile(const MatrixProgram& test, MatrixFormat format, bool pairs) {
  std::set<std::string> left_out = {"fuse-attention"};  // would fuse small matmuls into one launch
  if (!pairs) left_out.insert("fuse-dual-gemm");
  return CompileForMatrixUnit(Bind(test), format, Precision::kFloat32, left_out);
}

// Expects that the pass saves `pairs` launches and keeps the results; all sums are exact.
void ExpectPairs(const MatrixProgram& test, size_t pairs, MatrixFormat format) {
  const KernelList list = Compile(test, format, true);
  const KernelList apart = Compile(test, format, false);
  EXPECT_EQ(list.steps.size() + pairs, apart.steps.size());
  ExpectSameResults(list, apart, WholeNumbers(test), 0);
}

void ExpectPairs(const MatrixProgram& test, size_t pairs) {
  for (const MatrixFormat format : {MatrixFormat::kTf32, MatrixFormat::kBFloat16}) {
    ExpectPairs(test, pairs, format);
  }
}

// Two matmuls G and P of X with constant matrices, followed by the given statements.
MatrixProgram Products(const std::string& follows, const std::string& outputs = "Y") {
  return {"gate",
          absl::StrCat("function (X[M, K], W[K, N], U[K, N], V[N, L]) -> (", outputs,
                       ") {\n"
                       "G[i, j : M, N] = +(X[i, k] * W[k, j]);\n"
                       "P[i, j : M, N] = +(X[i, k] * U[k, j]);\n",
                       follows, "}"),
          {{66, 40}, {40, 24}, {40, 24}, {24, 16}},
          {false, true, true, true}};
}

TEST(FuseDualGemms, JoinsAGateWithWhatItMultiplies) {
  ExpectPairs(Products("Y = G / (1 + exp(-G)) * P;\n"), 1);
  ExpectPairs(Products("Y = max(G, 0) * P;\n"), 1);
  ExpectPairs(Products("Y = (P > 0 ? G : P);\n"), 1);
  ExpectPairs(Products("R = G / (1 + exp(-G)) * P; Y[i, l : M, L] = +(R[i, j] * V[j, l]);\n"), 1);
}

TEST(FuseDualGemms, JoinsAGateThatIsReadInTwoWays) {
  // The result reads the gate reshaped, and through max.
  ExpectPairs(Products("F = reshape(G, 1584); H = reshape(F, 66, 24); Y = max(G, 0) * P + H;\n"),
              1);
}

TEST(FuseDualGemms, LeavesAGateApartThatHasTwoResults) {
  ExpectPairs(Products("S = G * 2; Y = max(G, 0) * P;\n", "Y, S"), 0);
}

TEST(FuseDualGemms, LeavesAGateThatIsReadInAnotherOrder) {
  // A reshaped transpose reads the gate's elements in another order.
  ExpectPairs(
      Products("F = reshape(G, 24, 66); T[i, j : M, N] = =(F[j, i]); Y = max(G, 0) * P + T;\n"), 0);
}

TEST(FuseDualGemms, JoinsEachGateOfALayerThatIsAlike) {
  const MatrixProgram layers = {
      "layers",
      "function (X[M, K], W[K, N], U[K, N], D[N, K], S[K, N], T[K, N]) -> (Z) {\n"
      "G[i, j : M, N] = +(X[i, k] * W[k, j]); P[i, j : M, N] = +(X[i, k] * U[k, j]);\n"
      "R = max(G, 0) * P;\n"
      "A[i, k : M, K] = +(R[i, j] * D[j, k]); B = max(min(A, 3), -3) + X;\n"
      "H[i, j : M, N] = +(B[i, k] * S[k, j]); Q[i, j : M, N] = +(B[i, k] * T[k, j]);\n"
      "Z = max(H, 0) * Q;\n}",
      {{66, 40}, {40, 24}, {40, 24}, {24, 40}, {40, 24}, {40, 24}},
      {false, true, true, true, true, true}};
  ExpectPairs(layers, 2);
}

TEST(FuseDualGemms, JoinsWithTheFirstOfTwo) {
  const MatrixProgram three = {
      "three",
      "function (X[M, K], W[K, N], U[K, N], V[K, N]) -> (Y) {\n"
      "G[i, j : M, N] = +(X[i, k] * W[k, j]); P[i, j : M, N] = +(X[i, k] * U[k, j]);\n"
      "Q[i, j : M, N] = +(X[i, k] * V[k, j]);\n"
      "Y = max(G, 0) * P + Q;\n}",
      {{66, 40}, {40, 24}, {40, 24}, {40, 24}},
      {false, true, true, true}};
  ExpectPairs(three, 1);
}

TEST(FuseDualGemms, LeavesWhatOthersReadApart) {
  ExpectPairs(Products("Y = max(G, 0) * P;\n", "Y, G"), 0);
  ExpectPairs(Products("Y = max(G, 0) * P; Z[i, 0 : M, 1] = >(G[i, j]);\n", "Y, Z"), 0);
}

TEST(FuseDualGemms, LeavesWhatIsReadElsewhereApart) {
  // Reads the gate of another column; then two matmuls with different left factors.
  ExpectPairs(Products("S[i, j : M, N] = =(G[i, N - 1 - j]); Y = S * P;\n"), 0);
  const MatrixProgram other = {
      "other",
      "function (X[M, K], Z[M, K], W[K, N], U[K, N]) -> (Y) {\n"
      "G[i, j : M, N] = +(X[i, k] * W[k, j]); P[i, j : M, N] = +(Z[i, k] * U[k, j]);\n"
      "Y = max(G, 0) * P;\n}",
      {{66, 40}, {66, 40}, {40, 24}, {40, 24}},
      {false, false, true, true}};
  ExpectPairs(other, 0);
}

}  // namespace
}  // namespace tartan::compiler::pair_products_test
