// SPDX-License-Identifier: Apache-2.0
// Tests that matmuls prefetch all packed weights, except the first panels.
#include <gtest/gtest.h>

#include <algorithm>
#include <variant>

#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/programs.h"
#include "tile/compiler/compiler.h"
#include "tile/loop/build.h"
#include "tile/loop/interpret.h"
#include "tile/lower/cpu/panel_prefetch.h"

namespace tartan::lower::panel_fetch_test {
namespace {

using loop::StmtPtr;

// Replaces each prefetch by a store of 1 to "fetched", at the prefetched element's index.
StmtPtr Recorded(const StmtPtr& stmt, int* count) {
  if (stmt == nullptr) return nullptr;
  if (const auto* block = std::get_if<loop::Block>(&stmt->node)) {
    std::vector<StmtPtr> statements;
    for (const StmtPtr& inner : block->statements) statements.push_back(Recorded(inner, count));
    return loop::MakeBlock(std::move(statements));
  }
  loop::Stmt changed = *stmt;
  if (auto* loop = std::get_if<loop::For>(&changed.node)) loop->body = Recorded(loop->body, count);
  if (auto* branch = std::get_if<loop::If>(&changed.node)) {
    branch->then = Recorded(branch->then, count);
    branch->otherwise = Recorded(branch->otherwise, count);
  }
  if (const auto* fetch = std::get_if<loop::Prefetch>(&stmt->node)) {
    ++*count;
    changed.node = loop::Store{"fetched", DataType::kUInt8, fetch->index, loop::Int(1)};
  }
  return std::make_shared<const loop::Stmt>(std::move(changed));
}

TestProgram Product(int64_t rows, int64_t terms, int64_t columns) {
  return {"product",
          "function (A[M, K], B[K, N]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[k, j]); }",
          {{DataType::kFloat32, {rows, terms}}, {DataType::kFloat32, {terms, columns}}}};
}

compiler::KernelList Compiled(const TestProgram& test, int64_t units = 1) {
  ir::Program program = BindTestProgram(test);
  std::get<ir::Input>(program.values[program.inputs[1]].op).is_constant = true;
  compiler::CompileOptions options;
  options.settings.compute_units = units;
  auto list = compiler::Compile(program, options);
  EXPECT_TRUE(list.ok()) << list.status();
  return *std::move(list);
}

constexpr int64_t kLine = 16;  // floats per cache line

// Counts the cache lines of the packed weights that are not prefetched; -1: the kernel has no
// prefetch.
int64_t LinesNotFetched(const TestProgram& test, int64_t units = 1) {
  const compiler::KernelList list = Compiled(test, units);
  const auto& launch = std::get<compiler::LaunchStep>(list.steps.back());
  loop::Kernel kernel = list.kernels[launch.kernel];
  int count = 0;
  kernel.body = Recorded(kernel.body, &count);
  if (count == 0) return -1;
  kernel.parameters.push_back({"fetched", DataType::kUInt8, true});
  std::vector<std::vector<uint8_t>> buffers;
  for (const int buffer : launch.buffers) buffers.emplace_back(list.buffers[buffer].bytes);
  const int64_t elements = test.inputs[1].element_count();
  buffers.emplace_back(2 * elements);  // has room for prefetches beyond the weights
  const absl::Status status = loop::Interpret(kernel, absl::MakeSpan(buffers));
  EXPECT_TRUE(status.ok()) << status;
  int64_t missing = 0;
  for (int64_t line = 0; line < elements; line += kLine) {
    const auto begin = buffers.back().begin() + line;
    if (std::count(begin, begin + kLine, 1) == 0) ++missing;
  }
  return missing;
}

TEST(PanelPrefetch, ComesToAllWeightsButTheFirst) {
  // Panels have 128 rows and up to 64 columns; no earlier panel prefetches the first one.
  for (const int64_t rows : {27, 40, 64, 100}) {
    const int64_t missing = LinesNotFetched(Product(rows, 128, 2048));
    EXPECT_GE(missing, 0) << rows;
    EXPECT_LE(missing, 4 * 128 * 64 / kLine) << rows;
  }
}

TEST(PanelPrefetch, ComesToThemInRunsToo) {
  const int64_t missing = LinesNotFetched(Product(64, 1100, 512));
  EXPECT_GE(missing, 0);
  EXPECT_LE(missing, 4 * 1100 * 64 / kLine);
}

TEST(PanelPrefetch, FollowsTheWeightsOfAConvolution) {
  const TestProgram test = {
      "convolution",
      "function (X[N, H, W, C], K[I, J, C, O]) -> (R) { R[n, y, x, o : N, H "
      "- 2, W - 2, O] = +(X[n, y + i, x + j, c] * K[i, j, c, o]); }",
      {{DataType::kFloat32, {1, 9, 9, 64}}, {DataType::kFloat32, {3, 3, 64, 512}}}};
  const int64_t missing = LinesNotFetched(test);
  EXPECT_GE(missing, 0);
  EXPECT_LE(missing, 4 * 9 * 64 * 64 / kLine);
}

TEST(PanelPrefetch, IsNotForWeightsThatStayInACache) {
  EXPECT_EQ(LinesNotFetched(Product(40, 128, 512)), -1);
}

TEST(PanelPrefetch, ChangesNothing) {
  const TestProgram test = Product(40, 130, 2053);
  ExpectNaiveResults(test, Compiled(test));
}

}  // namespace
}  // namespace tartan::lower::panel_fetch_test
