// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

namespace tartan::evaluator {
namespace {

TEST(PlanCache, GivesNothingToNobody) {
  const auto plan = PlanCache({}, 128, 1 << 20);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->total_bytes(), 0);
}

TEST(PlanCache, LetsBuffersShareMemoryOneAfterTheOther) {
  const auto plan = PlanCache({{1000, 0, 1}, {1000, 2, 3}}, 128, 1 << 20);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->placements[0], plan->placements[1]);
  EXPECT_EQ(plan->total_bytes(), 1024);
}

TEST(PlanCache, KeepsBuffersOfOneStepApart) {
  const auto plan = PlanCache({{1000, 0, 1}, {1000, 1, 3}}, 128, 1 << 20);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->total_bytes(), 2048);
}

TEST(PlanCache, OpensAnotherArenaWhereOneIsFull) {
  const auto plan = PlanCache({{900, 0, 9}, {900, 0, 9}}, 128, 1024);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->arena_bytes.size(), 2u);
}

TEST(PlanCache, RefusesABufferLargerThanAnyAllocation) {
  const auto plan = PlanCache({{2000, 0, 0}}, 128, 1024);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(PlanCache, CutsAPieceOnlyWhereSharingAllowsIt) {
  const std::vector<Lifetime> lifetimes = {{2000, 0, 1}, {1100, 2, 3}, {800, 2, 3}};
  const auto anywhere = PlanCache(lifetimes, 128, 1 << 20);
  ASSERT_TRUE(anywhere.ok());
  EXPECT_EQ(anywhere->total_bytes(), 2048);
  const auto whole = PlanCache(lifetimes, 128, 1 << 20, Sharing::kWholePieces);
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(whole->total_bytes(), 2048 + 896);
  EXPECT_EQ(whole->placements[1], whole->placements[0]);
}

// A driver may forbid parts of an arena that overlap, but an arena itself is no part.
TEST(PlanCache, DividesAnArenaAmongSmallerBuffersOfOtherSteps) {
  const std::vector<Lifetime> lifetimes = {{2048, 0, 1}, {1024, 2, 3}, {1000, 3, 4}, {2048, 5, 5}};
  const auto plan = PlanCache(lifetimes, 128, 1 << 20, Sharing::kWholePieces);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->arena_bytes, std::vector<int64_t>{2048});
  EXPECT_EQ(plan->placements[2], (Placement{0, 1024, 1024}));
  EXPECT_EQ(plan->placements[3], (Placement{0, 0, 2048}));
}

bool Overlap(const Placement& a, const Placement& b) {
  return a.arena == b.arena && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

class PlanMemoryTest : public testing::TestWithParam<Sharing> {};

INSTANTIATE_TEST_SUITE_P(EverySharing, PlanMemoryTest,
                         testing::Values(Sharing::kAnywhere, Sharing::kWholePieces));

TEST_P(PlanMemoryTest, NeverOverlapsWhatIsAliveTogether) {
  const uint64_t seed = 20261121;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> lifetimes(random() % 40);
    for (Lifetime& lifetime : lifetimes) {
      lifetime.bytes = static_cast<int64_t>(random() % 5000);
      lifetime.first = static_cast<int>(random() % 20);
      lifetime.last = lifetime.first + static_cast<int>(random() % 6);
    }
    const auto plan = PlanCache(lifetimes, 64, 1 << 14, GetParam());
    ASSERT_TRUE(plan.ok());
    for (size_t i = 0; i < lifetimes.size(); ++i) {
      const Placement& a = plan->placements[i];
      EXPECT_EQ(a.offset % 64, 0);
      EXPECT_GE(a.bytes, lifetimes[i].bytes);
      EXPECT_LE(a.offset + a.bytes, plan->arena_bytes[a.arena]);
      for (size_t j = 0; j < i; ++j) {
        const Placement& b = plan->placements[j];
        const bool together =
            lifetimes[i].first <= lifetimes[j].last && lifetimes[j].first <= lifetimes[i].last;
        EXPECT_FALSE(together && Overlap(a, b));
        const bool is_arena = std::max(a.bytes, b.bytes) == plan->arena_bytes[a.arena];
        EXPECT_TRUE(GetParam() == Sharing::kAnywhere || a == b || is_arena || !Overlap(a, b));
      }
    }
  }
}

}  // namespace
}  // namespace tartan::evaluator
