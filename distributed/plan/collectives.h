// SPDX-License-Identifier: Apache-2.0
// Times of collective operations on a group of devices, in seconds. n is the size of the group, b
// the bytes of the whole tensor, L the latency and B the bandwidth of a link.
//
// R. Thakur, R. Rabenseifner, W. Gropp, Optimization of Collective Communication Operations in
// MPICH, 2005, has the ring and tree formulas.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "distributed/plan/link.h"

namespace tartan::plan_cluster {

// (n-1)/n b/B + (n-1) L; an all-gather takes the same time.
double RingReduceScatter(int64_t n, double bytes, const Link& link);
// A reduce-scatter and an all-gather: 2 (n-1)/n b/B + 2 (n-1) L.
double RingAllReduce(int64_t n, double bytes, const Link& link);
// A reduction to a root and a broadcast, each over ceil(log2 n) levels, in k chunks that follow
// each other: 2 (ceil(log2 n) + k - 1) (L + b/(k B)).
double TreeAllReduce(int64_t n, double bytes, int64_t chunks, const Link& link);
// The number of chunks with the minimum time of TreeAllReduce.
int64_t BestTreeChunks(int64_t n, double bytes, const Link& link);
// Reduce-scatter inside each host, all-reduce of each shard between hosts, all-gather inside.
double HierarchicalAllReduce(const Group& group, double bytes);

enum class Algorithm : uint8_t { kNone, kRing, kTree, kHierarchical };
absl::string_view Name(Algorithm algorithm);

struct CollectiveTime {
  double seconds = 0;
  Algorithm algorithm = Algorithm::kNone;  // kNone: a group of one device
};

// The fastest algorithm for a group.
CollectiveTime AllReduce(const Group& group, double bytes);
// A reduce-scatter or an all-gather: a ring, or rings inside hosts and between them.
CollectiveTime ReduceScatter(const Group& group, double bytes);

}  // namespace tartan::plan_cluster
