// SPDX-License-Identifier: Apache-2.0
#include "distributed/plan/overlap.h"

#include <gtest/gtest.h>

namespace tartan::plan_cluster {
namespace {

TEST(Overlap, BucketsJoinGradientsInOrderUntilTheyAreFull) {
  const auto buckets = MakeBuckets({{1, 4}, {2, 4}, {3, 20}, {4, 1}}, 8);
  ASSERT_EQ(buckets.size(), 3);
  EXPECT_EQ(buckets[0].bytes, 8);
  EXPECT_EQ(buckets[0].ready_s, 2);
  EXPECT_EQ(buckets[1].bytes, 20);
  EXPECT_EQ(buckets[2].bytes, 1);
  EXPECT_EQ(buckets[2].ready_s, 4);
  EXPECT_TRUE(MakeBuckets({}, 8).empty());
}

TEST(Overlap, AReductionWaitsForItsBucketAndForThePreviousReduction) {
  const auto seconds = [](double bytes) { return bytes; };
  EXPECT_EQ(EndOfReductions({{1, 0.5}, {3, 0.5}}, seconds), 3.5);
  EXPECT_EQ(EndOfReductions({{1, 5}, {3, 2}}, seconds), 8);
  EXPECT_EQ(EndOfReductions({}, seconds), 0);
}

TEST(Overlap, GathersHideBehindComputationExceptTheFirst) {
  // Segments of 2 s and 2 s in the backward pass, 1 s and 1 s in the forward pass.
  const std::vector<Gradient> buckets = {{2, 1}, {4, 1}};
  const auto half = [](double) { return 0.5; };
  const auto free = [](double) { return 0.0; };
  const GatheredPasses passes = GatherAhead(2, 4, buckets, half, free);
  EXPECT_DOUBLE_EQ(passes.forward_s, 2.5);
  EXPECT_DOUBLE_EQ(passes.backward_s, 4.5);
}

TEST(Overlap, SlowGathersDetermineThePass) {
  const std::vector<Gradient> buckets = {{2, 1}, {4, 1}};
  const auto slow = [](double) { return 3.0; };
  const auto free = [](double) { return 0.0; };
  const GatheredPasses passes = GatherAhead(2, 4, buckets, slow, free);
  EXPECT_DOUBLE_EQ(passes.forward_s, 3 + 3 + 1);
  EXPECT_DOUBLE_EQ(passes.backward_s, 3 + 3 + 2);
}

TEST(Overlap, ReductionsOfTheBackwardPassShareTheLinkWithGathers) {
  const std::vector<Gradient> buckets = {{2, 1}, {4, 1}};
  const auto one = [](double) { return 1.0; };
  // Gathers end at 1 and 2, computations at 3 and 5, reductions at 4 and 6.
  EXPECT_DOUBLE_EQ(GatherAhead(2, 4, buckets, one, one).backward_s, 6);
}

TEST(Overlap, PassesWithoutParametersAreThoseOfOneDevice) {
  const auto one = [](double) { return 1.0; };
  const GatheredPasses passes = GatherAhead(2, 4, {}, one, one);
  EXPECT_EQ(passes.forward_s, 2);
  EXPECT_EQ(passes.backward_s, 4);
}

}  // namespace
}  // namespace tartan::plan_cluster
