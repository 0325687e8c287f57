// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/ranks/gradient_arena.h"

#include <algorithm>
#include <vector>

namespace tartan::train {
namespace {

// The steps during which the memory of each bucket is taken.
std::vector<MemoryBlock> BlocksOf(absl::Span<const BucketUse> uses) {
  std::vector<MemoryBlock> blocks;
  int64_t reduced = 0;  // the step after which this bucket and all before it can be reduced
  for (const BucketUse& use : uses) {
    reduced = std::max(reduced, use.last);
    blocks.push_back({use.bytes, {{use.first, reduced}}});
  }
  // The reduction needs time, which the next bucket gives it.
  for (size_t b = 0; b + 1 < uses.size(); ++b) {
    int64_t& end = blocks[b].taken[0].end;
    end = std::max(end, blocks[b + 1].taken[0].end);
  }
  return blocks;
}

}  // namespace

ArenaPlan PlanArena(absl::Span<const BucketUse> uses) {
  const std::vector<MemoryBlock> blocks = BlocksOf(uses);
  ArenaPlan plan;
  plan.places = PlaceBlocks(blocks);
  const std::vector<size_t>& slots = plan.places.slots;
  plan.after.resize(uses.size());
  for (size_t b = 0; b < uses.size(); ++b) {
    for (size_t other = 0; other < uses.size(); ++other) {
      const bool is_earlier = blocks[other].taken[0].end <= blocks[b].taken[0].begin;
      const bool shares = slots[b] != kNoSlot && slots[other] == slots[b];
      if (other != b && is_earlier && shares) plan.after[b].push_back(other);
    }
  }
  return plan;
}

}  // namespace tartan::train
