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

MemoryPlaces PlaceBlocks(absl::Span<const MemoryBlock> blocks, int64_t alignment) {
  MemoryPlaces places;
  places.offsets.resize(blocks.size());
  // The largest first, each at the lowest free place.
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  for (size_t i = 0; i < order.size(); ++i) {
    const MemoryBlock& block = blocks[order[i]];
    std::vector<size_t> occupied;
    for (size_t j = 0; j < i; ++j) {
      if (blocks[order[j]].IsTakenWith(block)) occupied.push_back(order[j]);
    }
    std::sort(occupied.begin(), occupied.end(),
              [&](size_t a, size_t b) { return places.offsets[a] < places.offsets[b]; });
    int64_t place = 0;
    for (const size_t other : occupied) {
      if (place + block.bytes <= places.offsets[other]) break;
      const int64_t end = places.offsets[other] + blocks[other].bytes;
      place = std::max(place, (end + alignment - 1) / alignment * alignment);
    }
    places.offsets[order[i]] = place;
    places.bytes = std::max(places.bytes, place + block.bytes);
  }
  return places;
}

}  // namespace tartan::train
