// SPDX-License-Identifier: Apache-2.0
#include "distributed/plan/collectives.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tartan::plan_cluster {
namespace {

constexpr int64_t kMaxChunks = 1 << 16;

double Levels(int64_t n) {
  return static_cast<double>(std::bit_width(static_cast<uint64_t>(std::max<int64_t>(n - 1, 0))));
}

bool HasTwoLevels(const Group& group) { return group.size > group.per_host && group.per_host > 1; }

// A reduce-scatter inside hosts, then of each shard between hosts.
double HierarchicalReduceScatter(const Group& group, double bytes) {
  return RingReduceScatter(group.per_host, bytes, group.inside) +
         RingReduceScatter(group.hosts(), bytes / static_cast<double>(group.per_host),
                           group.between);
}

}  // namespace

double RingReduceScatter(int64_t n, double bytes, const Link& link) {
  const auto steps = static_cast<double>(n - 1);
  return steps * (bytes / static_cast<double>(n) / link.bytes_per_s + link.latency_s);
}

double RingAllReduce(int64_t n, double bytes, const Link& link) {
  return 2 * RingReduceScatter(n, bytes, link);
}

double TreeAllReduce(int64_t n, double bytes, int64_t chunks, const Link& link) {
  if (n <= 1) return 0;
  const auto k = static_cast<double>(chunks);
  return 2 * (Levels(n) + k - 1) * link.Send(bytes / k);
}

// The derivative of TreeAllReduce by k is 0 at sqrt((levels - 1) b / (B L)).
int64_t BestTreeChunks(int64_t n, double bytes, const Link& link) {
  if (link.latency_s <= 0) return kMaxChunks;
  const double best =
      std::sqrt(std::max(0.0, Levels(n) - 1) * bytes / link.bytes_per_s / link.latency_s);
  const auto below = static_cast<int64_t>(std::clamp(best, 1.0, double{kMaxChunks}));
  const bool more = TreeAllReduce(n, bytes, below + 1, link) < TreeAllReduce(n, bytes, below, link);
  return more ? below + 1 : below;
}

double HierarchicalAllReduce(const Group& group, double bytes) {
  return 2 * HierarchicalReduceScatter(group, bytes);
}

absl::string_view Name(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kNone:
      return "none";
    case Algorithm::kRing:
      return "ring";
    case Algorithm::kTree:
      return "tree";
    case Algorithm::kHierarchical:
      return "hierarchical";
  }
  return "";
}

CollectiveTime AllReduce(const Group& group, double bytes) {
  if (group.size <= 1) return {};
  const Link link = group.slowest();
  CollectiveTime best = {RingAllReduce(group.size, bytes, link), Algorithm::kRing};
  const double tree =
      TreeAllReduce(group.size, bytes, BestTreeChunks(group.size, bytes, link), link);
  if (tree < best.seconds) best = {tree, Algorithm::kTree};
  if (!HasTwoLevels(group)) return best;
  const double levels = HierarchicalAllReduce(group, bytes);
  if (levels < best.seconds) best = {levels, Algorithm::kHierarchical};
  return best;
}

CollectiveTime ReduceScatter(const Group& group, double bytes) {
  if (group.size <= 1) return {};
  CollectiveTime best = {RingReduceScatter(group.size, bytes, group.slowest()), Algorithm::kRing};
  if (!HasTwoLevels(group)) return best;
  const double levels = HierarchicalReduceScatter(group, bytes);
  if (levels < best.seconds) best = {levels, Algorithm::kHierarchical};
  return best;
}

}  // namespace tartan::plan_cluster
