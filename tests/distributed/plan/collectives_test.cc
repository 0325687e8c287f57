// SPDX-License-Identifier: Apache-2.0
#include "distributed/plan/collectives.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tartan::plan_cluster {
namespace {

constexpr Link kLink = {5e-6, 50e9};
constexpr double kBytes = 256e6;

TEST(Collectives, ARingReducesInTheTimeOfItsFormula) {
  for (const int64_t n : {2, 4, 8, 1024}) {
    const auto ranks = static_cast<double>(n);
    const double expected =
        2 * (ranks - 1) / ranks * kBytes / kLink.bytes_per_s + 2 * (ranks - 1) * kLink.latency_s;
    EXPECT_NEAR(RingAllReduce(n, kBytes, kLink), expected, 1e-12 * expected);
    EXPECT_NEAR(RingReduceScatter(n, kBytes, kLink), expected / 2, 1e-12 * expected);
  }
}

TEST(Collectives, OneDeviceCommunicatesNothing) {
  EXPECT_EQ(RingAllReduce(1, kBytes, kLink), 0);
  EXPECT_EQ(TreeAllReduce(1, kBytes, 4, kLink), 0);
  EXPECT_EQ(AllReduce({1, 8, kLink, kLink}, kBytes).seconds, 0);
  EXPECT_EQ(AllReduce({1, 8, kLink, kLink}, kBytes).algorithm, Algorithm::kNone);
}

TEST(Collectives, ATreeInOneChunkSendsEverythingOncePerLevelAndDirection) {
  const double hop = kLink.latency_s + kBytes / kLink.bytes_per_s;
  EXPECT_DOUBLE_EQ(TreeAllReduce(2, kBytes, 1, kLink), 2 * hop);
  EXPECT_DOUBLE_EQ(TreeAllReduce(8, kBytes, 1, kLink), 6 * hop);
  EXPECT_DOUBLE_EQ(TreeAllReduce(9, kBytes, 1, kLink), 8 * hop);
}

TEST(Collectives, TheBestNumberOfChunksOfATreeIsTheMinimumOfAll) {
  for (const double bytes : {1e3, 1e6, 3e7}) {
    int64_t best = 1;
    for (int64_t k = 1; k < 5000; ++k) {
      if (TreeAllReduce(64, bytes, k, kLink) < TreeAllReduce(64, bytes, best, kLink)) best = k;
    }
    EXPECT_EQ(BestTreeChunks(64, bytes, kLink), best) << bytes;
  }
}

TEST(Collectives, SmallReductionsTakeATreeAndLargeOnesARing) {
  const Group flat = {64, 1, kLink, kLink};
  EXPECT_EQ(AllReduce(flat, 1e3).algorithm, Algorithm::kTree);
  EXPECT_EQ(AllReduce(flat, 1e9).algorithm, Algorithm::kRing);
}

TEST(Collectives, HostsReduceInsideBetweenAndInside) {
  const Link fast = {1e-6, 400e9};
  const Group group = {32, 8, fast, kLink};
  const double expected = RingAllReduce(8, kBytes, fast) + RingAllReduce(4, kBytes / 8, kLink);
  EXPECT_NEAR(HierarchicalAllReduce(group, kBytes), expected, 1e-12);
  const CollectiveTime chosen = AllReduce(group, kBytes);
  EXPECT_EQ(chosen.algorithm, Algorithm::kHierarchical);
  EXPECT_NEAR(chosen.seconds, expected, 1e-12);
  EXPECT_NEAR(ReduceScatter(group, kBytes).seconds, expected / 2, 1e-12);
}

TEST(Collectives, AGroupOnOneHostDoesNotUseLinksBetweenHosts) {
  const Link slow = {1, 1};
  EXPECT_DOUBLE_EQ(AllReduce({4, 8, kLink, slow}, kBytes).seconds, RingAllReduce(4, kBytes, kLink));
}

}  // namespace
}  // namespace tartan::plan_cluster
