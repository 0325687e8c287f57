// SPDX-License-Identifier: Apache-2.0
// Tests when GPU tiles use asynchronous copies instead of registers, and their layout in local
// memory.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tests/tile/compiler/programs.h"
#include "tests/tile/testing.h"
#include "tile/compiler/compiler.h"
#include "tile/plan/gpu/async_copies.h"
#include "tile/plan/gpu/bank_padding.h"
#include "tile/plan/gpu/group_staging.h"
#include "tile/plan/select/select_plan.h"

namespace tartan::plan::copies_ahead_test {
namespace {

// Settings of an H100.
HardwareSettings Settings() {
  HardwareSettings settings = TestGpu(256, 132);
  settings.matrix_local_bytes = 227 << 10;
  settings.l2_bytes = 132 * (32 << 10);
  settings.cache_line_bytes = 128;
  settings.max_work_item_sizes = {1024, 1024, 64};
  settings.has_fma = true;
  settings.clock_mhz = 1980;
  settings.gflops = 60000;
  settings.gbps = 3000;
  settings.launch_us = 3;
  return settings;
}

struct Choice {
  poly::FlatContraction flat;
  GpuPlan plan;
};

// Returns the choice for the program's only kernel.
Choice ChoiceFor(const std::string& code, std::vector<TensorShape> inputs,
                 const HardwareSettings& settings) {
  Choice choice;
  compiler::CompileOptions options;
  options.settings = settings;
  compiler::CompileHooks hooks;
  hooks.planner = [&](const poly::FlatContraction& flat, const plan::LaunchContext& launch) {
    PlannedKernel planned = PlanKernel(flat, settings, launch);
    choice.flat = planned.flat;
    const auto* groups = std::get_if<GpuPlan>(&planned.plan);
    EXPECT_NE(groups, nullptr);
    if (groups != nullptr) choice.plan = *groups;
    return planned;
  };
  const auto list =
      compiler::Compile(BindTestProgram({"Choice", code, std::move(inputs)}), options, hooks);
  EXPECT_TRUE(list.ok()) << list.status();
  return choice;
}

Choice LargeProduct(const HardwareSettings& settings) {
  return ChoiceFor(kMatMul, {F32({6304, 3072}), F32({3072, 768})}, settings);
}

TEST(CopiesAhead, AreWhatLargeProductsHaveWhereTheDeviceHasThem) {
  const Choice choice = LargeProduct(Settings());
  EXPECT_EQ(choice.plan.buffering, Buffering::kAsyncCopies) << choice.plan.ToString(choice.flat);
  EXPECT_EQ(ReasonInvalid(choice.flat, choice.plan, Settings()), "");
  HardwareSettings others = Settings();
  others.matrix_local_bytes = 0;
  const Choice without = LargeProduct(others);
  EXPECT_NE(without.plan.buffering, Buffering::kAsyncCopies);
  EXPECT_NE(ReasonInvalid(choice.flat, choice.plan, others), "");
}

// A row stays padded if different work-items read different rows: without padding the rows would
// share banks.
TEST(CopiesAhead, HaveNoPaddingWhereWorkItemsReadNeighbours) {
  const Choice choice = LargeProduct(Settings());
  ASSERT_EQ(choice.plan.staged.size(), 2);
  for (const StagedAccess& staged : choice.plan.staged) {
    const bool is_left = staged.access == 0;
    EXPECT_EQ(staged.layout.size > staged.layout.ElementCount(), is_left) << staged.access;
    EXPECT_TRUE(staged.layout.StoresVectors());
  }
}

// Returns the banks into which a warp stores the first elements of its vectors.
std::set<int64_t> BanksOfWarp(const TileLayout& layout, int64_t padding) {
  std::set<int64_t> banks;
  for (int64_t item = 0; item < 32; ++item) {
    int64_t place = 0, rest = item;
    for (int d = 0; d < static_cast<int>(layout.dims.size()); ++d) {
      const TileDim& dim = layout.dims[d];
      const int64_t behind = d == layout.VectorDim() ? padding : 0;
      place += rest % dim.threads * (dim.vector * dim.local_stride + behind);
      rest /= dim.threads;
    }
    banks.insert(place % 32);
  }
  return banks;
}

// Rows along K are loaded in vectors and stored element by element.
TEST(TransposedTiles, AreStoredIntoDifferentBanks) {
  const Choice choice =
      ChoiceFor("function (A[M, L], B[N, L]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[j, k]); }",
                {F32({4096, 512}), F32({768, 512})}, Settings());
  ASSERT_EQ(choice.plan.staged.size(), 2);
  for (const StagedAccess& staged : choice.plan.staged) {
    const TileLayout& layout = staged.layout;
    ASSERT_FALSE(layout.StoresVectors()) << choice.plan.ToString(choice.flat);
    const int64_t padding = BankPadding(choice.flat, choice.plan, staged);
    EXPECT_EQ(BanksOfWarp(layout, padding).size(), 32) << choice.plan.ToString(choice.flat);
    EXPECT_LT(BanksOfWarp(layout, 0).size(), 32);
    // The last element is in the tile.
    const TileDim& dim = layout.dims[layout.VectorDim()];
    EXPECT_GE(layout.size, dim.local_stride * dim.range + padding * (dim.range / dim.vector - 1));
  }
}

// Elements that are contiguous in memory and in the tile are stored as vectors.
TEST(TransposedTiles, AreTheOnlyOnesWithPaddingBehindVectors) {
  const Choice choice = LargeProduct(Settings());
  for (const StagedAccess& staged : choice.plan.staged) {
    EXPECT_EQ(BankPadding(choice.flat, choice.plan, staged), 0);
  }
}

TEST(CopiesAhead, CopyVectorsOfSixteenBytesAndZeros) {
  const Choice choice = LargeProduct(Settings());
  ASSERT_TRUE(CanCopyAsync(choice.flat, choice.plan));
  GpuPlan other = choice.plan;
  other.staged[0].fill = 0;
  EXPECT_TRUE(CanCopyAsync(choice.flat, other));
  other.staged[0].fill = 1;
  EXPECT_FALSE(CanCopyAsync(choice.flat, other));
  other = choice.plan;
  other.staged[1].layout.dims[other.staged[1].layout.VectorDim()].vector = 2;
  EXPECT_FALSE(CanCopyAsync(choice.flat, other));
  other = choice.plan;
  other.staged.clear();
  EXPECT_FALSE(CanCopyAsync(choice.flat, other));
}

// Elements are converted to float32 between loads and stores, which an asynchronous copy cannot do.
TEST(CopiesAhead, AreNotThereForHalves) {
  const auto halves = [](std::vector<int64_t> dims) {
    return TensorShape{DataType::kFloat16, std::move(dims)};
  };
  const Choice choice = ChoiceFor(kMatMul, {halves({6304, 3072}), halves({3072, 768})}, Settings());
  EXPECT_NE(choice.plan.buffering, Buffering::kAsyncCopies);
}

TEST(TileLayout, WithoutPaddingHasEachElementOnce) {
  std::vector<TileDim> dims(2);
  dims[0].range = 8;
  dims[0].global_stride = 1;
  dims[0].vector = 4;
  dims[1].range = 6;
  dims[1].global_stride = 100;
  const TileLayout padded = VectorLayout(dims, 0, 4);
  EXPECT_GT(padded.size, 48);
  const TileLayout dense = WithoutPadding(padded);
  EXPECT_EQ(dense.size, 48);
  EXPECT_EQ(dense.dims[0].local_stride, 1);
  EXPECT_EQ(dense.dims[1].local_stride, 8);
  EXPECT_TRUE(dense.StoresVectors());
}

TEST(SplitPlans, AreTakenForLargeProductsWithSmallTiles) {
  const std::string gradient =
      "function (A[L, M], B[L, N]) -> (C) { C[i, j : M, N] = +(A[k, i] * B[k, j]); }";
  const auto plan = [&](int64_t depth) {
    PlannedKernel planned;
    compiler::CompileOptions options;
    options.settings = Settings();
    compiler::CompileHooks hooks;
    hooks.planner = [&](const poly::FlatContraction& flat, const plan::LaunchContext& launch) {
      return planned = PlanKernel(flat, Settings(), launch);
    };
    const auto list = compiler::Compile(
        BindTestProgram({"Gradient", gradient, {F32({depth, 768}), F32({depth, 3072})}}), options,
        hooks);
    EXPECT_TRUE(list.ok()) << list.status();
    return planned.packed.size();
  };
  EXPECT_EQ(plan(4096), 1);
  EXPECT_EQ(plan(256), 0);
}

}  // namespace
}  // namespace tartan::plan::copies_ahead_test
