// SPDX-License-Identifier: Apache-2.0
// Divides float32 tensors among ranks. One buffer has all tensors, in buckets of `ranks` equal
// parts; a rank owns its part of each bucket. A tensor is in one bucket.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace tartan::train {

struct ShardLayout {
  struct Bucket {
    int64_t offset = 0;           // bytes, from the start of the buffer
    int64_t size = 0;             // bytes, a multiple of ranks * alignment
    std::vector<size_t> tensors;  // in order
  };
  // The elements of a tensor that a rank owns.
  struct Segment {
    size_t tensor = 0;
    size_t bucket = 0;
    int64_t first = 0;   // element of the tensor
    int64_t count = 0;   // of elements, 1 or more
    int64_t offset = 0;  // bytes, from the start of the bucket
  };

  int64_t ranks = 1;
  std::vector<int64_t> counts;    // elements by tensor
  std::vector<int64_t> offsets;   // bytes by tensor, from the start of its bucket; aligned
  std::vector<size_t> bucket_of;  // by tensor
  std::vector<Bucket> buckets;
  int64_t bytes = 0;  // of all buckets

  // The owned segments in the order of tensors. Their offsets are aligned.
  std::vector<Segment> SegmentsOf(int64_t rank) const;
};

// `counts`: elements by tensor, each 1 or more. `alignment`: bytes, a multiple of 4. A bucket is
// full with the tensor that reaches `bucket_bytes`.
ShardLayout LayOutShards(absl::Span<const int64_t> counts, int64_t ranks, int64_t alignment,
                         int64_t bucket_bytes);

}  // namespace tartan::train
