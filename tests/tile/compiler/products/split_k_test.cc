// SPDX-License-Identifier: Apache-2.0
// Tests split-K matmuls for a matrix unit whose partial sums the following normalization adds up.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/matrix_programs.h"
#include "tile/compiler/compiler.h"

namespace tartan::compiler {
namespace {

// The end of a layer: a matmul, a residual addition that is an output, and a normalization.
MatrixProgram Layer(int64_t rows, int64_t depth, int64_t columns) {
  return {"Layer",
          "function (A[M, L], B[L, N], C[M, N]) -> (R, Y) { P[i, j : M, N] = +(A[i, k] * B[k, j]);"
          " R = P + C; S[i, o : M, 1] = +(R[i, j] * R[i, j]); Y = R / (S + 1); }",
          {{rows, depth}, {depth, columns}, {rows, columns}},
          {false, true}};
}

CompileOptions OptionsFor(Precision precision, const std::set<std::string>& left_out = {}) {
  CompileOptions options;
  options.settings = MatrixSettings();
  options.settings.clock_mhz = 1980;
  options.settings.launch_us = 3;
  options.precision = precision;
  options.disabled_passes = left_out;
  return options;
}

KernelList ListOf(const MatrixProgram& test, const CompileOptions& options) {
  const auto list = Compile(Bind(test), options);
  EXPECT_TRUE(list.ok()) << list.status();
  return list.ok() ? *list : KernelList();
}

bool HasPartialSums(const KernelList& list) {
  return std::any_of(list.buffers.begin(), list.buffers.end(), [](const BufferInfo& buffer) {
    return absl::StrContains(buffer.name, "P_runs");
  });
}

TEST(SplitKMatmuls, AreAddedUpByTheNormalisation) {
  const MatrixProgram test = Layer(32, 2048, 96);
  const MatrixCase layer = CaseOf(test);
  for (const Precision precision : {Precision::kTf32, Precision::kBFloat16}) {
    EXPECT_FALSE(HasPartialSums(ListOf(test, OptionsFor(precision, {"split-k"}))));
    const KernelList list = ListOf(test, OptionsFor(precision));
    EXPECT_TRUE(HasPartialSums(list)) << Name(precision);
    // Expects a split-K matmul and one launch for the remaining operations.
    EXPECT_EQ(list.steps.size(), 2u) << Name(precision);
    const auto actual = InterpretList(list, layer.inputs);
    ASSERT_TRUE(actual.ok()) << actual.status();
    EXPECT_EQ(FirstDifference((*actual)[0], layer.expected[0], 0), "");
    EXPECT_EQ(FirstDifference((*actual)[1], layer.expected[1], 1e-6), "");
  }
}

TEST(SplitKMatmuls, AreForMatrixUnitsAndLongSumsOfFewTiles) {
  const auto has_runs = [](const MatrixProgram& test, Precision precision) {
    return HasPartialSums(ListOf(test, OptionsFor(precision)));
  };
  EXPECT_FALSE(has_runs(Layer(32, 2048, 96), Precision::kFloat32));
  EXPECT_FALSE(has_runs(Layer(32, 256, 96), Precision::kTf32));
  EXPECT_FALSE(has_runs(Layer(2048, 1024, 2048), Precision::kTf32));
  // One row is faster without the matrix unit.
  EXPECT_FALSE(has_runs(Layer(1, 2048, 96), Precision::kTf32));
  CompileOptions ready = OptionsFor(Precision::kTf32);
  ready.tier = Tier::kReady;
  EXPECT_FALSE(HasPartialSums(ListOf(Layer(32, 2048, 96), ready)));
}

}  // namespace
}  // namespace tartan::compiler
