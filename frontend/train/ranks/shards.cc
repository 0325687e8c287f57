// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/ranks/shards.h"

namespace tartan::train {

MemoryRange Shards::WholeOf(const DividedMemory& memory, size_t bucket) const {
  return {memory.whole, layout.buckets[bucket].offset, layout.buckets[bucket].size};
}

MemoryRange Shards::PartOf(const DividedMemory& memory, size_t bucket) const {
  const ShardLayout::Bucket& whole = layout.buckets[bucket];
  const int64_t bytes = whole.size / layout.ranks;
  if (memory.parts != nullptr) return {memory.parts, whole.offset / layout.ranks, bytes};
  return {memory.whole, whole.offset + rank * bytes, bytes};
}

std::vector<int64_t> Shards::BytesInTurn(const BucketMemory& memory) const {
  std::vector<int64_t> bytes;
  for (size_t b = 0; b < layout.buckets.size(); ++b)
    bytes.push_back(memory.own[b] == nullptr ? layout.buckets[b].size : 0);
  return bytes;
}

MemoryPlaces Shards::PlacesOneByOne(const BucketMemory& memory) const {
  std::vector<MemoryBlock> blocks;
  for (const int64_t bytes : BytesInTurn(memory)) blocks.push_back({bytes, {}});
  return PlaceBlocks(blocks);
}

}  // namespace tartan::train
