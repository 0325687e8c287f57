// SPDX-License-Identifier: Apache-2.0
// Tests the order in which the points of a register tile are computed.
#include <gtest/gtest.h>

#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/programs.h"
#include "tile/compiler/compiler.h"
#include "tile/loop/loop_ir.h"
#include "tile/plan/select/select_plan.h"

namespace tartan::lower::row_order_test {
namespace {

// A matmul with separate blocks of columns, as packed weights have; the block index precedes the
// row.
const TestProgram kBlocks = {
    "blocks",
    "function (A[M, L], B[N, L, K]) -> (C) { C[n, i, k : N, M, K] = +(A[i, l] * B[n, l, k]); }",
    {{DataType::kFloat32, {3, 32}}, {DataType::kFloat32, {2, 32, 8}}}};

compiler::KernelList Compiled() {
  compiler::CompileHooks hooks;
  hooks.planner = [](const poly::FlatContraction& flat, const plan::LaunchContext&) {
    plan::CpuPlan plan = plan::ScalarPlan(flat, 1);
    plan.vector_index = 2;
    plan.lanes = 8;
    plan.unroll = {2, 3, 8, 1};
    plan.task = {2, 3, 8};
    return plan::PlannedKernel{flat, plan, {}, 0, ""};
  };
  auto list = compiler::Compile(BindTestProgram(kBlocks), compiler::CompileOptions(), hooks);
  EXPECT_TRUE(list.ok()) << list.status();
  return *std::move(list);
}

// Two vectors stay in registers and each row's element is used for both. In the other order, three
// elements would occupy registers until the second vector is loaded.
TEST(RowOrder, ElementsOfARowAreUsedByAllVectorsBeforeTheNextRow) {
  const compiler::KernelList list = Compiled();
  ASSERT_EQ(list.kernels.size(), 1u);
  const std::string text = loop::ToString(list.kernels[0]);
  std::vector<size_t> rows, vectors;
  for (size_t at = text.find("in0["); at != std::string::npos; at = text.find("in0[", at + 1)) {
    rows.push_back(at);
  }
  for (size_t at = text.find("in1["); at != std::string::npos; at = text.find("in1[", at + 1)) {
    vectors.push_back(at);
  }
  ASSERT_EQ(rows.size(), 3u) << text;
  ASSERT_EQ(vectors.size(), 2u) << text;
  EXPECT_LT(vectors[1], rows[1]) << text;
  compiler::ExpectNaiveResults(kBlocks, list);
}

}  // namespace
}  // namespace tartan::lower::row_order_test
