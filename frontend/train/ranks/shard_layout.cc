// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/ranks/shard_layout.h"

#include <algorithm>

namespace tartan::train {
namespace {

constexpr int64_t kElementBytes = 4;

int64_t RoundedUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

ShardLayout LayOutShards(absl::Span<const int64_t> counts, int64_t ranks, int64_t alignment,
                         int64_t bucket_bytes) {
  ShardLayout layout;
  layout.ranks = ranks;
  layout.counts.assign(counts.begin(), counts.end());
  for (size_t tensor = 0; tensor < counts.size(); ++tensor) {
    if (tensor == 0 || layout.buckets.back().size >= bucket_bytes) layout.buckets.emplace_back();
    ShardLayout::Bucket& bucket = layout.buckets.back();
    layout.offsets.push_back(RoundedUp(bucket.size, alignment));
    bucket.size = layout.offsets.back() + counts[tensor] * kElementBytes;
    bucket.tensors.push_back(tensor);
    layout.bucket_of.push_back(layout.buckets.size() - 1);
  }
  for (ShardLayout::Bucket& bucket : layout.buckets) {
    bucket.offset = layout.bytes;
    bucket.size = RoundedUp(bucket.size, ranks * alignment);
    layout.bytes += bucket.size;
  }
  return layout;
}

std::vector<ShardLayout::Segment> ShardLayout::SegmentsOf(int64_t rank) const {
  std::vector<Segment> segments;
  for (size_t b = 0; b < buckets.size(); ++b) {
    const int64_t part = buckets[b].size / ranks;
    for (const size_t tensor : buckets[b].tensors) {
      const int64_t start = std::max(offsets[tensor], rank * part);
      const int64_t end =
          std::min(offsets[tensor] + counts[tensor] * kElementBytes, (rank + 1) * part);
      if (start >= end) continue;
      segments.push_back({tensor, b, (start - offsets[tensor]) / kElementBytes,
                          (end - start) / kElementBytes, start});
    }
  }
  return segments;
}

}  // namespace tartan::train
