// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/ranks/memory_places.h"

#include <algorithm>
#include <numeric>

namespace tartan::train {

bool MemoryBlock::IsTakenWith(const MemoryBlock& other) const {
  return std::any_of(taken.begin(), taken.end(), [&](const StepSpan& own) {
    return std::any_of(other.taken.begin(), other.taken.end(),
                       [&](const StepSpan& span) { return own.Overlaps(span); });
  });
}

int64_t MemoryPlaces::bytes() const {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
}

MemoryPlaces PlaceBlocks(absl::Span<const MemoryBlock> blocks) {
  MemoryPlaces places;
  places.slots.assign(blocks.size(), kNoSlot);
  // The largest first, so that the first block of a slot has its size.
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  std::vector<std::vector<size_t>> taken_by;  // blocks by slot
  for (const size_t b : order) {
    if (blocks[b].bytes == 0) continue;
    const auto slot =
        std::find_if(taken_by.begin(), taken_by.end(), [&](const std::vector<size_t>& others) {
          return std::none_of(others.begin(), others.end(),
                              [&](size_t other) { return blocks[other].IsTakenWith(blocks[b]); });
        });
    places.slots[b] = slot - taken_by.begin();
    if (slot == taken_by.end()) {
      taken_by.emplace_back();
      places.sizes.push_back(blocks[b].bytes);
    }
    taken_by[places.slots[b]].push_back(b);
  }
  return places;
}

}  // namespace tartan::train
