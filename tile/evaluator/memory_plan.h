// SPDX-License-Identifier: Apache-2.0
// Memory planning: assigns each buffer of a program a place in a few large allocations (arenas).
// Buffers with disjoint lifetimes share memory.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/compiler/memory/lifetimes.h"

namespace tartan::evaluator {

using compiler::Lifetime;

// The piece of an arena in which a buffer is stored.
struct Placement {
  int arena = 0;
  int64_t offset = 0;
  int64_t bytes = 0;  // not less than the buffer's size

  bool operator==(const Placement&) const = default;
};

struct MemoryPlan {
  std::vector<Placement> placements;  // one per lifetime, in order
  std::vector<int64_t> arena_bytes;

  int64_t total_bytes() const;
};

enum class Sharing : uint8_t {
  kAnywhere,  // pieces may overlap partly
  // Two pieces are identical or disjoint, or one of them is a whole arena; needs more memory.
  kWholePieces,
};

// Offsets are multiples of `alignment`; no arena exceeds `max_arena_bytes`. ResourceExhausted if
// one buffer alone exceeds it. Empty tensors get `alignment` bytes, so that they have an address,
// too.
absl::StatusOr<MemoryPlan> PlanCache(absl::Span<const Lifetime> lifetimes, int64_t alignment,
                                     int64_t max_arena_bytes, Sharing sharing = Sharing::kAnywhere);

}  // namespace tartan::evaluator
