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
  int64_t bytes = 0;
  std::vector<StepSpan> taken;

  bool IsTakenWith(const MemoryBlock& other) const;
};

struct MemoryPlaces {
  std::vector<int64_t> offsets;  // bytes by block, multiples of the alignment
  int64_t bytes = 0;             // of all blocks
};

// Blocks that are taken at one time have separate memory.
MemoryPlaces PlaceBlocks(absl::Span<const MemoryBlock> blocks, int64_t alignment);

}  // namespace tartan::train
