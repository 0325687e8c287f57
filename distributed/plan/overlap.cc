// SPDX-License-Identifier: Apache-2.0
#include "distributed/plan/overlap.h"

#include <algorithm>

namespace tartan::plan_cluster {
namespace {

struct Segment {
  double compute_s = 0;
  double bytes = 0;
};

// The end of computing all segments, and of their reductions if `reduce` is set.
double EndOfSegments(absl::Span<const Segment> segments, Cost gather, const Cost* reduce) {
  double link_free = segments.empty() ? 0 : gather(segments[0].bytes);
  double gathered = link_free;
  double computed = 0;
  for (size_t i = 0; i < segments.size(); ++i) {
    const double start = std::max(computed, gathered);
    computed = start + segments[i].compute_s;
    if (i + 1 < segments.size()) {
      link_free = std::max(link_free, start) + gather(segments[i + 1].bytes);
      gathered = link_free;
    }
    if (reduce != nullptr) {
      link_free = std::max(link_free, computed) + (*reduce)(segments[i].bytes);
    }
  }
  return std::max(computed, reduce == nullptr ? 0 : link_free);
}

}  // namespace

std::vector<Gradient> MakeBuckets(absl::Span<const Gradient> gradients, double bucket_bytes) {
  std::vector<Gradient> buckets;
  bool is_full = true;
  for (const Gradient& gradient : gradients) {
    if (is_full) buckets.emplace_back();
    buckets.back().ready_s = std::max(buckets.back().ready_s, gradient.ready_s);
    buckets.back().bytes += gradient.bytes;
    is_full = buckets.back().bytes >= bucket_bytes;
  }
  return buckets;
}

double EndOfReductions(absl::Span<const Gradient> buckets, Cost reduce) {
  double end = 0;
  for (const Gradient& bucket : buckets) end = std::max(end, bucket.ready_s) + reduce(bucket.bytes);
  return end;
}

GatheredPasses GatherAhead(double forward_s, double backward_s, absl::Span<const Gradient> buckets,
                           Cost gather, Cost reduce) {
  if (buckets.empty()) return {forward_s, backward_s};
  std::vector<Segment> backward;
  double before = 0;
  for (const Gradient& bucket : buckets) {
    backward.push_back({std::max(0.0, bucket.ready_s - before), bucket.bytes});
    before = std::max(before, bucket.ready_s);
  }
  backward.back().compute_s += std::max(0.0, backward_s - before);
  std::vector<Segment> forward(backward.rbegin(), backward.rend());
  for (Segment& segment : forward) {
    segment.compute_s *= backward_s > 0 ? forward_s / backward_s : 0;
  }
  return {EndOfSegments(forward, gather, nullptr), EndOfSegments(backward, gather, &reduce)};
}

}  // namespace tartan::plan_cluster
