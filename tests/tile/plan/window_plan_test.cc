// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/cpu/window_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/tile/compiler/programs.h"
#include "tile/compiler/compiler.h"
#include "tile/plan/select/select_plan.h"
#include "tile/poly/rewrite_kernel.h"
#include "tile/poly/unroll.h"

namespace tartan::plan::window_plan_test {
namespace {

// Returns the only kernel of a test program as the planner receives it.
poly::FlatContraction KernelOf(const std::string& name) {
  poly::FlatContraction kernel;
  compiler::CompileOptions options;
  compiler::CompileHooks hooks;
  hooks.planner = [&](const poly::FlatContraction& flat, const plan::LaunchContext& launch) {
    kernel = poly::MergeIndices(flat);
    return PlanKernel(flat, HardwareSettings(), launch);
  };
  for (const TestProgram& program : TestPrograms()) {
    if (program.name == name) {
      EXPECT_TRUE(compiler::Compile(BindTestProgram(program), options, hooks).ok());
    }
  }
  EXPECT_FALSE(kernel.indices.empty()) << "there is no program " << name;
  return kernel;
}

TEST(Unroll, LeavesOnlyOutputIndices) {
  const poly::FlatContraction kernel = KernelOf("OverlappingMaxPool");
  ASSERT_TRUE(poly::CanUnroll(kernel));
  const poly::FlatContraction written = poly::Unroll(kernel);
  EXPECT_FALSE(written.is_reduction());
  EXPECT_EQ(static_cast<int>(written.indices.size()), kernel.output_index_count);
  EXPECT_EQ(written.accesses.size(), 9u);  // one per point of the window
}

TEST(Unroll, IsNotForManyPoints) { EXPECT_FALSE(poly::CanUnroll(KernelOf("SumOverLastAxis"))); }

TEST(Unroll, IsNotForElementsThatMayHaveNoPoint) {
  EXPECT_FALSE(poly::CanUnroll(KernelOf("EmptyMaximum")));
}

TEST(WindowPlan, MasksTheEdgesOfAPool) {
  const poly::FlatContraction kernel = KernelOf("OverlappingMaxPool");
  HardwareSettings settings;
  settings.vector_width = 8;
  const auto planned = WindowPlan(kernel, settings);
  ASSERT_TRUE(planned.has_value());
  EXPECT_TRUE(planned->is_unrolled);
  EXPECT_TRUE(std::get<CpuPlan>(planned->plan).masks_lanes);
  EXPECT_EQ(std::get<CpuPlan>(planned->plan).lanes, 8);
}

// Each of the four adjacent elements of an input square has a different set of windows.
TEST(WindowPlan, ComputesNeighboursOfAPoolsGradientSideBySide) {
  const poly::FlatContraction kernel = KernelOf("OverlappingMaxPoolGradient");
  HardwareSettings settings;
  settings.vector_width = 8;
  const auto planned = WindowPlan(kernel, settings);
  ASSERT_TRUE(planned.has_value());
  EXPECT_EQ(std::count(std::get<CpuPlan>(planned->plan).unroll.begin(),
                       std::get<CpuPlan>(planned->plan).unroll.end(), 2),
            2);
}

TEST(WindowPlan, LeavesProductsToRegisterTiles) {
  EXPECT_FALSE(WindowPlan(KernelOf("DepthwiseConvolution"), HardwareSettings()).has_value());
}

TEST(WindowPlan, LeavesRowsTooShortForVectors) {
  EXPECT_FALSE(WindowPlan(KernelOf("MaxPool"), HardwareSettings()).has_value());
}

}  // namespace
}  // namespace tartan::plan::window_plan_test
