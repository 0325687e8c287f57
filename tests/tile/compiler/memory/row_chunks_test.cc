// SPDX-License-Identifier: Apache-2.0
// Tests when the rows of logits are computed in chunks, and that the compiled kernels agree with
// the naive evaluator.
#include "tile/compiler/row_chunks.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/programs.h"
#include "tile/compiler/compiler.h"
#include "tile/graph/matmul/row_chunks.h"

namespace tartan::compiler::row_chunks_test {
namespace {

TestProgram CrossEntropy(int64_t rows, int64_t width, int64_t classes) {
  return {"cross_entropy",
          "function (X[R, D], W[D, V], T[R, V]) -> (L, DX, DW) { "
          "Y[r, v : R, V] = +(X[r, d] * W[d, v]); M[r, 0 : R, 1] = >(Y[r, v]); E = exp(Y - M); "
          "S[r, 0 : R, 1] = +(E[r, v]); LOGS = log(S) + M; L[] = +(LOGS[r, o]); G = E / S - T; "
          "DX[r, d : R, D] = +(G[r, v] * W[d, v]); DW[d, v : D, V] = +(G[r, v] * X[r, d]); }",
          {{DataType::kFloat32, {rows, width}},
           {DataType::kFloat32, {width, classes}},
           {DataType::kFloat32, {rows, classes}}}};
}

int64_t ChunksOf(const TestProgram& test, const CompileOptions& options) {
  const ir::Program program = BindTestProgram(test);
  const std::optional<graph::RowRegion> region = graph::FindRowRegion(program, kMinChunkedElements);
  return region.has_value() ? RowChunks(program, *region, options) : 1;
}

CompileOptions Cpu() {
  CompileOptions options;
  options.settings.vector_width = 16;
  options.settings.compute_units = 2;
  return options;
}

TEST(RowChunks, AreChosenWhereTheyCostLittleTime) {
  EXPECT_EQ(ChunksOf(CrossEntropy(4096, 768, 16000), Cpu()), 4);
  // The sums over rows and the weights take longer than the matmuls of few rows.
  EXPECT_EQ(ChunksOf(CrossEntropy(512, 768, 16000), Cpu()), 1);
  EXPECT_EQ(ChunksOf(CrossEntropy(64, 64, 1000), Cpu()), 1);
}

TEST(RowChunks, AreMoreWhereTheLogitsTakeMuchOfTheBudget) {
  CompileOptions options = Cpu();
  const TestProgram test = CrossEntropy(1024, 768, 16000);
  options.memory_budget = int64_t{1} << 40;
  const int64_t few = ChunksOf(test, options);
  options.memory_budget = int64_t{512} << 20;
  EXPECT_GT(ChunksOf(test, options), few);
}

TEST(RowChunks, ComputeWhatTheNaiveEvaluatorComputes) {
  const TestProgram test = CrossEntropy(12, 5, 48);
  ir::Program program = BindTestProgram(test);
  const std::optional<graph::RowRegion> region = graph::FindRowRegion(program, 1);
  ASSERT_TRUE(region.has_value());
  for (const int64_t chunks : {2, 3, 12}) {
    const auto list = Compile(graph::ComputeInChunks(program, *region, chunks), Cpu());
    ASSERT_TRUE(list.ok()) << list.status();
    ExpectNaiveResults(test, *list);
  }
}

}  // namespace
}  // namespace tartan::compiler::row_chunks_test
