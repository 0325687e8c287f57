// SPDX-License-Identifier: Apache-2.0
// Places buckets of gradients in memory that they use one after another during a step. Internal to
// frontend/train.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "frontend/train/ranks/memory_places.h"

namespace tartan::train {

// The steps of a program that use a bucket: [first, last).
struct BucketUse {
  int64_t first = 0;
  int64_t last = 0;
  int64_t bytes = 0;  // 0: its memory is not shared
};

struct ArenaPlan {
  MemoryPlaces places;  // by bucket
  // The earlier buckets by bucket whose memory it takes: they must be reduced first.
  std::vector<std::vector<size_t>> after;
};

// Buckets are reduced in their order, each after its last use. The reduction of a bucket may go on
// while the next one is computed, so adjacent buckets have separate memory.
ArenaPlan PlanArena(absl::Span<const BucketUse> uses);

}  // namespace tartan::train
