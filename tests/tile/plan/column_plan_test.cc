// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/cpu/column_plan.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/programs.h"
#include "tests/tile/testing.h"
#include "tile/compiler/compiler.h"
#include "tile/ir/naive_evaluator.h"
#include "tile/plan/select/select_plan.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::plan {
namespace {

// A device with caches too small to hold any operand.
HardwareSettings Settings() {
  HardwareSettings settings;
  settings.l2_bytes = 1024;
  settings.compute_units = 2;
  return settings;
}

// Returns the column plan of a program's only kernel, or nothing if it has another plan.
std::optional<CpuPlan> PlanOf(const TestProgram& program) {
  std::optional<CpuPlan> found;
  compiler::CompileOptions options;
  options.settings = Settings();
  compiler::CompileHooks hooks;
  hooks.planner = [&](const poly::FlatContraction& flat, const plan::LaunchContext& launch) {
    if (auto planned = ColumnPlan(poly::MergeIndices(flat), Settings()))
      found = std::get<CpuPlan>(planned->plan);
    return PlanKernel(flat, Settings(), launch);
  };
  EXPECT_TRUE(compiler::Compile(BindTestProgram(program), options, hooks).ok());
  return found;
}

const char kSum[] = "function (I[M, N]) -> (O) { O[n : N] = +(I[m, n]); }";
const char kMaximum[] = "function (I[L, M, N]) -> (O) { O[l, n : L, N] = >(I[l, m, n]); }";
const char kScaleGradient[] =
    "function (G[M, N], X[M, N], A[M], B[M]) -> (O) { D = (X - reshape(A, 37, 1)) * reshape(B, 37, "
    "1); T = G * D; O[n : N] = +(T[m, n]); }";

TEST(ColumnPlan, WalksSeveralRowsAlongAllColumns) {
  const auto plan = PlanOf({"sum", kSum, {F32({37, 600})}});
  ASSERT_TRUE(plan.has_value());
  ASSERT_TRUE(plan->block.has_value());
  EXPECT_EQ(plan->block->chunk_length, 8);
  EXPECT_EQ(plan->order.back(), plan->vector_index);
  EXPECT_EQ(plan->task[plan->vector_index],
            320);  // half of the columns for each core, rounded to tiles
}

TEST(ColumnPlan, IsNotForWhatACacheHolds) {
  EXPECT_FALSE(ColumnPlan(poly::FlatContraction(), Settings()).has_value());
  HardwareSettings large = Settings();
  large.l2_bytes = int64_t{1} << 20;
  compiler::CompileOptions options;
  compiler::CompileHooks hooks;
  hooks.planner = [&](const poly::FlatContraction& flat, const plan::LaunchContext& launch) {
    EXPECT_FALSE(ColumnPlan(poly::MergeIndices(flat), large).has_value());
    return PlanKernel(flat, large, launch);
  };
  EXPECT_TRUE(
      compiler::Compile(BindTestProgram({"sum", kSum, {F32({37, 600})}}), options, hooks).ok());
}

TEST(ColumnPlan, IsNotForProducts) {
  EXPECT_FALSE(
      PlanOf({"product",
              "function (A[M, L], B[L, N]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[k, j]); }",
              {F32({5, 40}), F32({40, 512})}})
          .has_value());
}

TEST(ColumnPlan, IsNotForSumsAlongRows) {
  EXPECT_FALSE(
      PlanOf({"rows", "function (I[M, N]) -> (O) { O[m : M] = +(I[m, n]); }", {F32({300, 300})}})
          .has_value());
}

class ColumnKernels : public testing::TestWithParam<TestProgram> {};

TEST_P(ColumnKernels, ComputeWhatTheNaiveEvaluatorDoes) {
  ASSERT_TRUE(PlanOf(GetParam()).has_value());
  const ir::Program program = BindTestProgram(GetParam());
  std::vector<HostTensor> inputs = RandomInputs(GetParam(), 1);
  std::vector<uint8_t> bytes(inputs[0].bytes().begin(), inputs[0].bytes().end());
  StoreElement(DataType::kFloat32, std::nan(""), 700, bytes.data());
  StoreElement(DataType::kFloat32, -INFINITY, 1500, bytes.data());
  inputs[0] = HostTensor(inputs[0].shape(), bytes);
  const auto expected = ir::EvaluateNaively(program, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  compiler::CompileOptions options;
  options.settings = Settings();
  const auto list = compiler::Compile(program, options);
  ASSERT_TRUE(list.ok()) << list.status();
  const auto actual = InterpretList(*list, inputs);
  ASSERT_TRUE(actual.ok()) << actual.status();
  EXPECT_EQ(FirstDifference((*actual)[0], (*expected)[0], 1e-5), "");
}

INSTANTIATE_TEST_SUITE_P(All, ColumnKernels,
                         testing::Values(TestProgram{"Sum", kSum, {F32({37, 601})}},
                                         TestProgram{"Maximum", kMaximum, {F32({3, 19, 257})}},
                                         TestProgram{"ScaleGradient",
                                                     kScaleGradient,
                                                     {F32({37, 300}), F32({37, 300}), F32({37}),
                                                      F32({37})}}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tartan::plan
