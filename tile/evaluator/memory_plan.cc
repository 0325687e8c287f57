// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/memory_plan.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tartan::evaluator {
namespace {

// Places buffers one by one, the largest first, so that small ones fill the gaps.
class Planner {
 public:
  Planner(absl::Span<const Lifetime> lifetimes, int64_t max_arena_bytes)
      : lifetimes_(lifetimes), max_arena_bytes_(max_arena_bytes) {}

  // Places `buffer` at the lowest offset of the first arena that is free during its lifetime.
  Placement PlaceAnywhere(int buffer, int64_t bytes) {
    for (size_t a = 0;; ++a) {
      if (a == arenas_.size()) OpenArena();
      const int64_t offset = LowestOffset(arenas_[a], buffer, bytes);
      if (offset + bytes > max_arena_bytes_) continue;
      const Piece piece = {{static_cast<int>(a), offset, bytes}, {buffer}};
      const auto at = std::upper_bound(
          arenas_[a].begin(), arenas_[a].end(), piece,
          [](const Piece& x, const Piece& y) { return x.placement.offset < y.placement.offset; });
      arenas_[a].insert(at, piece);
      arena_bytes_[a] = std::max(arena_bytes_[a], offset + bytes);
      return piece.placement;
    }
  }

  // Reuses a piece that is free during the lifetime of `buffer`, or appends a new one.
  Placement PlaceInWholePiece(int buffer, int64_t bytes) {
    for (std::vector<Piece>& arena : arenas_) {
      for (Piece& piece : arena) {
        if (piece.placement.bytes < bytes || IsUsedDuring(piece, buffer)) continue;
        piece.users.push_back(buffer);
        return piece.placement;
      }
    }
    if (arenas_.empty() || arena_bytes_.back() + bytes > max_arena_bytes_) OpenArena();
    const int last = static_cast<int>(arenas_.size()) - 1;
    arenas_[last].push_back({{last, arena_bytes_[last], bytes}, {buffer}});
    arena_bytes_[last] += bytes;
    return arenas_[last].back().placement;
  }

  std::vector<int64_t> arena_bytes() && { return std::move(arena_bytes_); }

 private:
  struct Piece {
    Placement placement;
    std::vector<int> users;
  };

  void OpenArena() {
    arenas_.emplace_back();
    arena_bytes_.push_back(0);
  }

  bool IsUsedDuring(const Piece& piece, int buffer) const {
    const Lifetime& life = lifetimes_[buffer];
    return std::any_of(piece.users.begin(), piece.users.end(), [&](int user) {
      return lifetimes_[user].first <= life.last && life.first <= lifetimes_[user].last;
    });
  }

  // The pieces of an arena are sorted by offset.
  int64_t LowestOffset(const std::vector<Piece>& arena, int buffer, int64_t bytes) const {
    int64_t offset = 0;
    for (const Piece& piece : arena) {
      if (!IsUsedDuring(piece, buffer)) continue;
      if (piece.placement.offset >= offset + bytes) break;
      offset = std::max(offset, piece.placement.offset + piece.placement.bytes);
    }
    return offset;
  }

  const absl::Span<const Lifetime> lifetimes_;
  const int64_t max_arena_bytes_;
  std::vector<std::vector<Piece>> arenas_;
  std::vector<int64_t> arena_bytes_;
};

}  // namespace

int64_t MemoryPlan::total_bytes() const {
  return std::accumulate(arena_bytes.begin(), arena_bytes.end(), int64_t{0});
}

absl::StatusOr<MemoryPlan> PlanCache(absl::Span<const Lifetime> lifetimes, int64_t alignment,
                                     int64_t max_arena_bytes, Sharing sharing) {
  MemoryPlan plan;
  plan.placements.resize(lifetimes.size());
  std::vector<int> order(lifetimes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
  Planner planner(lifetimes, max_arena_bytes);
  for (int i : order) {
    const int64_t needed = lifetimes[i].bytes;
    const int64_t units = std::max<int64_t>((needed + alignment - 1) / alignment, 1);
    const int64_t bytes = units * alignment;
    if (bytes > max_arena_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("a buffer of ", needed,
                       " bytes is larger than the device's largest allocation, ", max_arena_bytes));
    }
    plan.placements[i] = sharing == Sharing::kWholePieces ? planner.PlaceInWholePiece(i, bytes)
                                                          : planner.PlaceAnywhere(i, bytes);
  }
  plan.arena_bytes = std::move(planner).arena_bytes();
  return plan;
}

}  // namespace tartan::evaluator
