// SPDX-License-Identifier: Apache-2.0
// The memory of buckets of whole tensors, of which a rank keeps parts. Internal to frontend/train.
#pragma once

#include <cstdint>
#include <vector>

#include "frontend/api/resident/device_tensor.h"
#include "frontend/train/ranks/memory_places.h"

namespace tartan::train {

// Whole buckets, and this rank's part of each. An update uses pieces of tensors, so parts within
// the whole need sub-buffers that partially overlap the tensors.
struct DividedMemory {
  hal::BufferPtr whole;  // null: buckets are whole in memory that they use one after another
  hal::BufferPtr parts;  // null: they are within the whole

  int64_t part_bytes() const { return parts == nullptr ? 0 : parts->size(); }
};

// Memory that buckets use one after another. Some have memory of their own.
struct BucketMemory {
  std::vector<hal::BufferPtr> own;  // by bucket; null: it is in a slot
  std::vector<int64_t> sizes;       // bytes by slot that programs need
  std::vector<hal::BufferPtr> slots;

  const hal::BufferPtr& Of(size_t bucket, const MemoryPlaces& places) const {
    return own[bucket] != nullptr ? own[bucket] : slots[places.slots[bucket]];
  }
  // Makes the slots large enough for these places, too; `slots` may be too small then.
  void Need(const MemoryPlaces& places);
  bool IsSmall(size_t slot) const {
    return slot >= slots.size() || slots[slot] == nullptr || slots[slot]->size() < sizes[slot];
  }
  bool IsTooSmall() const;
  // Returns the bytes of all buckets if programs need these places, too.
  int64_t bytes(const MemoryPlaces& more) const;
};

}  // namespace tartan::train
