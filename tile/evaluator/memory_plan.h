// SPDX-License-Identifier: Apache-2.0
// Where in a few large allocations each buffer of a program lies. Buffers whose lives do not
// overlap share memory.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/compiler/memory/lifetimes.h"

namespace tartan::evaluator {

using compiler::Lifetime;

// The piece of an arena that holds a buffer.
struct Placement {
  int arena = 0;
  int64_t offset = 0;
  int64_t bytes = 0;  // at least the buffer's

  bool operator==(const Placement&) const = default;
};

struct MemoryPlan {
  std::vector<Placement> placements;  // one per lifetime, in order
  std::vector<int64_t> arena_bytes;

  int64_t total_bytes() const;
};

enum class Sharing : uint8_t {
  kAnywhere,     // pieces may overlap in part
  kWholePieces,  // two pieces are the same or apart, at the price of some memory
};

// Offsets are multiples of `alignment`; no arena is larger than `max_arena_bytes`.
// ResourceExhausted for a single buffer beyond that. Every buffer gets at least one aligned unit,
// so that empty tensors have an address too.
absl::StatusOr<MemoryPlan> PlanMemory(absl::Span<const Lifetime> lifetimes, int64_t alignment,
                                      int64_t max_arena_bytes,
                                      Sharing sharing = Sharing::kAnywhere);

}  // namespace tartan::evaluator
