// SPDX-License-Identifier: Apache-2.0
// Tests that logits and their gradients are computed for some rows at a time.
#include "tile/graph/matmul/row_chunks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/programs.h"
#include "tests/tile/testing.h"
#include "tile/ir/naive_evaluator.h"
#include "tile/ir/verify_stored.h"

namespace tartan::graph {
namespace {

constexpr int64_t kClasses = 40;

// A cross entropy of logits Y = X W + BIAS and classes T, and its gradients. The weight KNOWN of a
// row follows from the classes. `sharp` is a factor of the gradient by logits.
TestProgram CrossEntropy(const std::string& outputs = "L, RIGHT, DX, DW, DB",
                         const std::string& sharp = "1", int64_t batch = 4) {
  TestProgram test = {
      "cross_entropy",
      absl::StrCat("function (X[B, S, D], W[D, V], BIAS[V], T[B, S], C[V]) -> (", outputs,
                   ") { P[b, s, v : B, S, V] = +(X[b, s, d] * W[d, v]); Y = P + BIAS; "
                   "M[b, s, 0 : B, S, 1] = >(Y[b, s, v]); E = exp(Y - M); "
                   "SUM[b, s, 0 : B, S, 1] = +(E[b, s, v]); LOGS = reshape(log(SUM) + M, ",
                   batch,
                   ", 3); "
                   "HIT[b, s : B, S] = +(T[b, s] == C[v] ? Y[b, s, v]); "
                   "TOP = Y == M ? index(Y, 2) : ",
                   kClasses,
                   "; FIRST[b, s : B, S] = <(TOP[b, s, v]); "
                   "RIGHT = FIRST == T; KNOWN = T == 3 ? 0.0 : 1.0; COUNT[] = +(KNOWN[b, s]); "
                   "ROWS = KNOWN * (LOGS - HIT); L[] = +(ROWS[b, s]); K = KNOWN / COUNT; "
                   "ONE[b, s, v : B, S, V] = +(T[b, s] == C[v] ? K[b, s]); "
                   "KR[b, s, 0 : B, S, 1] = +(K[b, s]); G = (KR * E / SUM - ONE) * ",
                   sharp,
                   "; "
                   "DX[b, s, d : B, S, D] = +(G[b, s, v] * W[d, v]); "
                   "DW[d, v : D, V] = +(G[b, s, v] * X[b, s, d]); DB[v : V] = +(G[b, s, v]); }"),
      {F32({batch, 3, 2}),
       F32({2, kClasses}),
       F32({kClasses}),
       {DataType::kInt32, {batch, 3}},
       {DataType::kInt32, {kClasses}}}};
  test.low = -2;
  test.high = 2;
  return test;
}

// The same with classes in dimension 1, as in segmentation.
TestProgram Segmentation() {
  return {"segmentation",
          "function (X[N, D, H], W[V, D], Z[N, H], T[N, H], C[V, U]) -> (L, DX, DW) { "
          "P[n, v, h : N, V, H] = +(X[n, d, h] * W[v, d]); M[n, 0, h : N, 1, H] = >(P[n, v, h]); "
          "E = exp(P - M); S[n, 0, h : N, 1, H] = +(E[n, v, h]); "
          "A[n, h : N, H] = +(T[n, h] == C[v, 0] ? P[n, v, h]); L[] = +(A[n, h]); "
          "ONE[n, v, h : N, V, H] = +(T[n, h] == C[v, 0] ? Z[n, h]); G = E / S - ONE; "
          "DX[n, d, h : N, D, H] = +(G[n, v, h] * W[v, d]); "
          "DW[v, d : V, D] = +(G[n, v, h] * X[n, d, h]); }",
          {F32({6, 2, 5}),
           F32({kClasses, 2}),
           F32({6, 5}),
           {DataType::kInt32, {6, 5}},
           {DataType::kInt32, {kClasses, 1}}}};
}

// Inputs whose last int32 vector counts the classes.
std::vector<HostTensor> InputsOf(const TestProgram& test) {
  std::vector<HostTensor> inputs = RandomInputs(test, 1);
  std::vector<int32_t> classes(kClasses);
  for (int32_t c = 0; c < kClasses; ++c) classes[c] = c - 2;
  inputs.back() = HostTensor::FromVector(test.inputs.back(), classes);
  return inputs;
}

int64_t LargestOf(const ir::Program& program) {
  int64_t largest = 0;
  for (const ir::Value& value : program.values)
    largest = std::max(largest, value.shape.element_count());
  return largest;
}

void ExpectChunks(const TestProgram& test, int64_t extent, const std::vector<int64_t>& chunks) {
  const ir::Program program = BindTestProgram(test);
  const std::optional<RowRegion> region = FindRowRegion(program, 1);
  ASSERT_TRUE(region.has_value());
  EXPECT_EQ(region->extent, extent);
  const std::vector<HostTensor> inputs = InputsOf(test);
  const auto expected = ir::EvaluateNaively(program, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  for (const int64_t n : chunks) {
    const ir::Program divided = ComputeInChunks(program, *region, n);
    EXPECT_TRUE(ir::VerifyStored(divided).ok()) << ir::VerifyStored(divided);
    // The weights and their gradient have two elements for each class.
    EXPECT_EQ(LargestOf(divided), std::max(LargestOf(program) / n, 2 * kClasses));
    const auto actual = ir::EvaluateNaively(divided, inputs);
    ASSERT_TRUE(actual.ok()) << actual.status();
    for (size_t o = 0; o < expected->size(); ++o)
      EXPECT_EQ(FirstDifference((*actual)[o], (*expected)[o], 1e-5), "") << n << ", output " << o;
  }
}

TEST(RowChunks, DivideACrossEntropyAndItsGradients) {
  ExpectChunks(CrossEntropy(), 4, {2, 4});
  ExpectChunks(CrossEntropy("L, DW"), 4, {2});
  ExpectChunks(CrossEntropy("L, DX"), 4, {4});
}

TEST(RowChunks, DivideImagesWithClassesInDimensionOne) { ExpectChunks(Segmentation(), 6, {2, 3}); }

TEST(RowChunks, DivideTheSecondDimensionOfASingleExample) {
  ExpectChunks(CrossEntropy("L, RIGHT, DX, DW, DB", "1", 1), 3, {3});
}

// Chunks cannot wait for a sum over all rows that they are part of.
TEST(RowChunks, LeaveGradientsAloneThatDependOnAllRows) {
  EXPECT_FALSE(FindRowRegion(BindTestProgram(CrossEntropy("L, DX, DW", "L")), 1).has_value());
}

TEST(RowChunks, LeaveLogitsAloneThatTheCallerReads) {
  EXPECT_FALSE(FindRowRegion(BindTestProgram(CrossEntropy("P, L, DX, DW")), 1).has_value());
  EXPECT_FALSE(FindRowRegion(BindTestProgram(CrossEntropy("G, L, DX, DW")), 1).has_value());
}

TEST(RowChunks, LeaveSmallLogitsAndInferenceAlone) {
  EXPECT_TRUE(FindRowRegion(BindTestProgram(CrossEntropy()), 12 * kClasses).has_value());
  EXPECT_FALSE(FindRowRegion(BindTestProgram(CrossEntropy()), 12 * kClasses + 1).has_value());
  EXPECT_FALSE(FindRowRegion(BindTestProgram(CrossEntropy("L, RIGHT")), 1).has_value());
}

}  // namespace
}  // namespace tartan::graph
