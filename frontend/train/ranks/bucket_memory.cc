// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/ranks/bucket_memory.h"

#include <algorithm>
#include <numeric>

namespace tartan::train {
namespace {

std::vector<int64_t> Larger(std::vector<int64_t> sizes, const std::vector<int64_t>& others) {
  sizes.resize(std::max(sizes.size(), others.size()));
  for (size_t i = 0; i < others.size(); ++i) sizes[i] = std::max(sizes[i], others[i]);
  return sizes;
}

}  // namespace

void BucketMemory::Need(const MemoryPlaces& places) { sizes = Larger(sizes, places.sizes); }

bool BucketMemory::IsTooSmall() const {
  for (size_t slot = 0; slot < sizes.size(); ++slot) {
    if (IsSmall(slot)) return true;
  }
  return false;
}

int64_t BucketMemory::bytes(const MemoryPlaces& more) const {
  const std::vector<int64_t> all = Larger(sizes, more.sizes);
  int64_t bytes = std::accumulate(all.begin(), all.end(), int64_t{0});
  for (const hal::BufferPtr& buffer : own) bytes += buffer == nullptr ? 0 : buffer->size();
  return bytes;
}

}  // namespace tartan::train
