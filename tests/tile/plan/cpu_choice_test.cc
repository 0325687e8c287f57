// SPDX-License-Identifier: Apache-2.0
// Tests that the CPU cost model prefers plans that were measured to be faster.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/tile/compiler/programs.h"
#include "tests/tile/testing.h"
#include "tile/compiler/compiler.h"
#include "tile/plan/select/select_plan.h"

namespace tartan::plan::cpu_choice_test {
namespace {

// Settings of a core with AVX-512 and two multiply-add units.
HardwareSettings Settings() {
  HardwareSettings settings;
  settings.threads = 1;
  settings.vector_width = 16;
  settings.l1_bytes = 48 << 10;
  settings.l2_bytes = 1 << 20;
  settings.register_bytes = 32 * 64;
  settings.compute_units = 1;
  settings.has_fma = true;
  settings.clock_mhz = 2600;
  settings.gflops = 260;
  settings.launch_us = 1;
  return settings;
}

struct Choice {
  poly::FlatContraction flat;
  CpuPlan plan;

  int IndexOf(const std::string& name) const {
    const auto at = std::find_if(flat.indices.begin(), flat.indices.end(),
                                 [&](const poly::Index& index) { return index.name == name; });
    return at == flat.indices.end() ? -1 : static_cast<int>(at - flat.indices.begin());
  }
  int64_t Rows(const std::string& name) const { return plan.unroll[IndexOf(name)]; }
  int64_t Level(const std::string& name) const {
    return std::find(plan.order.begin(), plan.order.end(), IndexOf(name)) - plan.order.begin();
  }
  std::string Vector() const { return flat.indices[plan.vector_index].name; }
};

// Returns the choice for a program of one kernel, whose second input is a constant.
Choice ChoiceOf(const std::string& code, std::vector<TensorShape> inputs,
                const HardwareSettings& settings = Settings()) {
  Choice choice;
  compiler::CompileHooks hooks;
  hooks.planner = [&](const poly::FlatContraction& flat, const plan::LaunchContext&) {
    PlannedKernel planned = PlanKernel(flat, settings, {{false, true}});
    choice = {planned.flat, std::get<CpuPlan>(planned.plan)};
    return planned;
  };
  compiler::CompileOptions options;
  options.settings = settings;
  const TestProgram program = {"choice", code, std::move(inputs)};
  EXPECT_TRUE(compiler::Compile(BindTestProgram(program), options, hooks).ok());
  return choice;
}

TEST(CpuChoice, RowsThatShareSetsAreAsManyAsTheFirstCacheHasWays) {
  // Rows are 12 KiB apart.
  const std::vector<TensorShape> shapes = {F32({128, 3072}), F32({3072, 768})};
  EXPECT_GE(ChoiceOf(kMatMul, shapes).Rows("i"), 8);
  HardwareSettings fewer_ways = Settings();
  fewer_ways.l1_bytes = 32 << 10;
  EXPECT_LE(ChoiceOf(kMatMul, shapes, fewer_ways).Rows("i"), 7);
}

TEST(CpuChoice, APanelOfALargeMatrixIsUsedUpBeforeTheNext) {
  const Choice choice = ChoiceOf(kMatMul, {F32({128, 3072}), F32({3072, 768})});
  EXPECT_LT(choice.Level("j_block"), choice.Level("i"));
}

TEST(CpuChoice, ManyRowsThatNoFirstCacheHoldsAreCopied) {
  const Choice choice = ChoiceOf(kMatMul, {F32({128, 768}), F32({768, 50257})});
  const bool is_copied = choice.plan.block && !choice.plan.block->staged.empty();
  EXPECT_TRUE(is_copied || choice.Rows("i") <= 8) << choice.plan.ToString(choice.flat);
}

// 49 pixels fill three vectors of 16 and leave one pixel. Vectors along the channels waste no
// lanes, and their elements are stored one by one.
TEST(CpuChoice, SmallImagesHaveVectorsAlongTheChannels) {
  const Choice choice = ChoiceOf(
      "function (D[C, Y, X], K[O, C]) -> (R) { R[o, y, x : O, Y, X] = +(D[c, y, x] * K[o, c]); }",
      {F32({512, 7, 7}), F32({2048, 512})});
  EXPECT_EQ(choice.Vector(), "o_lane");
}

// Sums of nine terms are too short to hide the stores.
TEST(CpuChoice, ShortSumsHaveVectorsWhereResultsAreNeighbours) {
  const Choice choice = ChoiceOf(
      "function (D[Y, X], K[O, I, J]) -> (R) "
      "{ R[y, x, o : Y - 2, X - 2, O] = +(D[y + i, x + j] * K[o, i, j]); }",
      {F32({30, 30}), F32({32, 3, 3})});
  EXPECT_EQ(choice.Vector().substr(0, 1), "o");
}

TEST(CpuChoice, WhatIsReadAtEveryOtherPlaceIsCopiedOnce) {
  const Choice choice = ChoiceOf(
      "function (D[C, Y, X], K[O, C]) -> (R) "
      "{ R[o, y, x : O, Y / 2, X / 2] = +(D[c, 2 * y, 2 * x] * K[o, c]); }",
      {F32({256, 56, 56}), F32({512, 256})});
  ASSERT_TRUE(choice.plan.block.has_value());
  EXPECT_EQ(choice.plan.block->staged, std::vector<int>{0});
}

// Settings as on a Zen 5, whose memory also prefers one stream.
HardwareSettings HidingSettings() {
  HardwareSettings settings = Settings();
  settings.hides_l2_latency = true;
  settings.prefers_one_stream = true;
  return settings;
}

// If the second cache's latency is hidden, copies cost more than the page accesses they save.
TEST(CpuChoice, WhatIsReadAtEveryOtherPlaceStaysThereWhereTheSecondCacheIsHidden) {
  const Choice choice = ChoiceOf(
      "function (D[C, Y, X], K[O, C]) -> (R) "
      "{ R[o, y, x : O, Y / 2, X / 2] = +(D[c, 2 * y, 2 * x] * K[o, c]); }",
      {F32({256, 56, 56}), F32({512, 256})}, HidingSettings());
  EXPECT_TRUE(!choice.plan.block || choice.plan.block->staged.empty())
      << choice.plan.ToString(choice.flat);
}

// Eight rows give enough work to hide loads of the matrix from the third cache. Four rows at a time
// would read it twice and wait for their sums.
TEST(CpuChoice, EightRowsShareEachVectorOfALargeMatrixWhereTheSecondCacheIsHidden) {
  const std::vector<TensorShape> shapes = {F32({8, 2048}), F32({2048, 1000})};
  const Choice choice = ChoiceOf(kMatMul, shapes, HidingSettings());
  EXPECT_EQ(choice.Rows("i"), 8) << choice.plan.ToString(choice.flat);
}

// Adjacent blocks of a packed matrix would be several streams.
TEST(CpuChoice, AMatrixFromMemoryIsOneStream) {
  const Choice few = ChoiceOf(kMatMul, {F32({32, 1024}), F32({1024, 4096})}, HidingSettings());
  EXPECT_EQ(few.Rows("j_block"), 1) << few.plan.ToString(few.flat);
  const Choice batched = ChoiceOf(
      "function (A[P, M, L], B[P, L, N]) -> (C) "
      "{ C[p, i, j : P, M, N] = +(A[p, i, k] * B[p, k, j]); }",
      {F32({16, 16, 512}), F32({16, 512, 512})}, HidingSettings());
  EXPECT_EQ(batched.Vector(), "j_lane") << batched.plan.ToString(batched.flat);
}

}  // namespace
}  // namespace tartan::plan::cpu_choice_test
