// SPDX-License-Identifier: Apache-2.0
// Places blocks of memory that are in use at different times of a program. Internal to
// frontend/train.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace tartan::train {

// Steps of a program: [begin, end).
struct StepSpan {
  int64_t begin = 0;
  int64_t end = 0;

  bool Overlaps(const StepSpan& other) const { return begin < other.end && other.begin < end; }
};

// A block keeps its place in all its spans.
struct MemoryBlock {
  int64_t bytes = 0;  // 0: it has memory elsewhere
  std::vector<StepSpan> taken;

  bool IsTakenWith(const MemoryBlock& other) const;
};

inline constexpr size_t kNoSlot = static_cast<size_t>(-1);

// A slot is memory that blocks take one after another. Each begins at the first byte, so that
// blocks of one tensor each never need sub-buffers that partially overlap.
struct MemoryPlaces {
  std::vector<size_t> slots;   // by block; kNoSlot: memory elsewhere
  std::vector<int64_t> sizes;  // bytes by slot, the largest first

  int64_t bytes() const;  // of all slots
};

// Blocks that are taken at one time have separate slots.
MemoryPlaces PlaceBlocks(absl::Span<const MemoryBlock> blocks);

}  // namespace tartan::train
