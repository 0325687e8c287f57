// SPDX-License-Identifier: Apache-2.0
#include "distributed/plan/link.h"

#include <gtest/gtest.h>

namespace tartan::plan_cluster {
namespace {

TEST(Link, ParsesBitsBytesAndLatencies) {
  const auto bits = ParseLink("400Gb", 5e-6);
  ASSERT_TRUE(bits.ok()) << bits.status();
  EXPECT_DOUBLE_EQ(bits->bytes_per_s, 50e9);
  EXPECT_DOUBLE_EQ(bits->latency_s, 5e-6);
  const auto bytes = ParseLink("1.5TB:2us", 5e-6);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_DOUBLE_EQ(bytes->bytes_per_s, 1.5e12);
  EXPECT_DOUBLE_EQ(bytes->latency_s, 2e-6);
}

TEST(Link, RefusesTextsThatAreNoLinks) {
  for (const char* text : {"", "400", "Gb", "0Gb", "-1Gb", "400Gbps", "4.0.0Gb", "400gb",
                           "400Gb:", "400Gb:3", "400Gb:0us", "400Gb:3us:1", "nanGb"}) {
    EXPECT_EQ(ParseLink(text, 0).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(Link, ParsesDurations) {
  EXPECT_DOUBLE_EQ(ParseDuration("3us").value_or(0), 3e-6);
  EXPECT_DOUBLE_EQ(ParseDuration("1.5ms").value_or(0), 1.5e-3);
  EXPECT_DOUBLE_EQ(ParseDuration("2min").value_or(0), 120);
  EXPECT_DOUBLE_EQ(ParseDuration("3d").value_or(0), 3 * 86400);
  for (const char* text : {"", "3", "s", "-1s", "0s", "3 s", "3sec"}) {
    EXPECT_FALSE(ParseDuration(text).ok()) << text;
  }
}

TEST(Link, GroupsAtADistanceHaveFewerMembersPerHost) {
  const Cluster cluster = {64, 8, {1e-6, 400e9}, {5e-6, 50e9}};
  EXPECT_EQ(cluster.GroupOf(64, 1).per_host, 8);
  EXPECT_EQ(cluster.GroupOf(64, 1).hosts(), 8);
  EXPECT_EQ(cluster.GroupOf(16, 4).per_host, 2);
  EXPECT_EQ(cluster.GroupOf(8, 8).per_host, 1);
  EXPECT_EQ(cluster.GroupOf(4, 1).per_host, 4);
  EXPECT_DOUBLE_EQ(cluster.GroupOf(4, 1).slowest().bytes_per_s, 400e9);
  EXPECT_DOUBLE_EQ(cluster.GroupOf(8, 8).slowest().bytes_per_s, 50e9);
}

}  // namespace
}  // namespace tartan::plan_cluster
