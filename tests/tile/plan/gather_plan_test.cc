// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/cpu/gather_plan.h"

#include <gtest/gtest.h>

#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/programs.h"
#include "tile/compiler/compiler.h"
#include "tile/ir/naive_evaluator.h"
#include "tile/plan/select/select_plan.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::plan::gather_plan_test {
namespace {

TestProgram Gather(int64_t rows, int64_t columns, int64_t axis) {
  return {"gather",
          axis == 0 ? "function (D, I) -> (O) { O = gather(D, I, 0); }"
                    : "function (D, I) -> (O) { O = gather(D, I, 1); }",
          {{DataType::kFloat32, {rows, columns}}, {DataType::kInt64, {13}}},
          -4,
          9};
}

std::optional<CpuPlan> PlanOf(const TestProgram& program) {
  std::optional<CpuPlan> found;
  compiler::CompileOptions options;
  compiler::CompileHooks hooks;
  hooks.planner = [&](const poly::FlatContraction& flat, const plan::LaunchContext& launch) {
    if (auto planned = GatherPlan(poly::MergeIndices(flat), HardwareSettings()))
      found = std::get<CpuPlan>(planned->plan);
    return PlanKernel(flat, HardwareSettings(), launch);
  };
  EXPECT_TRUE(compiler::Compile(BindTestProgram(program), options, hooks).ok());
  return found;
}

TEST(GatherPlan, SharesPositionsAmongRows) {
  const auto plan = PlanOf(Gather(19, 10, 1));
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->unroll[0], 8);
  EXPECT_EQ(plan->vector_index, 1);
}

TEST(GatherPlan, IsNotForWholeRows) { EXPECT_FALSE(PlanOf(Gather(10, 19, 0)).has_value()); }

TEST(GatherPlan, IsNotForFewRows) { EXPECT_FALSE(PlanOf(Gather(7, 10, 1)).has_value()); }

TEST(GatherPlan, ReadsWhatTheNaiveEvaluatorDoes) {
  const TestProgram test = Gather(19, 10, 1);  // some indices count from the end
  const ir::Program program = BindTestProgram(test);
  const std::vector<HostTensor> inputs = RandomInputs(test, 1);
  const auto expected = ir::EvaluateNaively(program, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const auto list = compiler::Compile(program, compiler::CompileOptions());
  ASSERT_TRUE(list.ok()) << list.status();
  const auto actual = InterpretList(*list, inputs);
  ASSERT_TRUE(actual.ok()) << actual.status();
  EXPECT_EQ(FirstDifference((*actual)[0], (*expected)[0], 0), "");
}

}  // namespace
}  // namespace tartan::plan::gather_plan_test
