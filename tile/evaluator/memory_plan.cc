// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/memory_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tartan::evaluator {
namespace {

// Pieces of less than 1 / kSmallShare of the live bytes share arenas, so that there are few arenas.
constexpr int64_t kSmallShare = 64;

// The last step that begins or ends a lifetime.
int LastStep(absl::Span<const Lifetime> lifetimes) {
  int last = 0;
  for (const Lifetime& life : lifetimes) {
    for (const int step : {life.first, life.last}) {
      if (step != compiler::kAfterLastStep) last = std::max(last, step);
    }
  }
  return last;
}

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

  // Reuses the smallest free piece, or opens a new one.
  Placement PlaceInWholePiece(int buffer, int64_t bytes, int64_t min_divided) {
    Whole* best = nullptr;
    size_t best_part = 0;
    int64_t best_bytes = 0;
    for (Whole& whole : wholes_) {
      const std::optional<size_t> part = FreePart(whole, buffer, bytes, min_divided);
      if (!part.has_value()) continue;
      const int64_t taken = *part < whole.parts.size() ? whole.part_bytes
                            : *part == kNewParts       ? bytes
                                                       : whole.placement.bytes;
      if (best != nullptr && taken >= best_bytes) continue;
      best = &whole;
      best_part = *part;
      best_bytes = taken;
    }
    if (best == nullptr) return OpenWhole(buffer, bytes, min_divided);
    if (best_part == kWholePiece) {
      best->users.push_back(buffer);
      return best->placement;
    }
    if (best_part == kNewParts) {
      best->part_bytes = bytes;
      best->parts.resize(static_cast<size_t>(best->placement.bytes / bytes));
      best_part = 0;
    }
    best->parts[best_part].push_back(buffer);
    const int64_t offset = static_cast<int64_t>(best_part) * best->part_bytes;
    return {best->placement.arena, offset, best->part_bytes};
  }

  std::vector<int64_t> arena_bytes() && { return std::move(arena_bytes_); }

 private:
  struct Piece {
    Placement placement;
    std::vector<int> users;
  };

  // A piece that buffers use as a whole, or in equal parts. Parts exist only in arenas of one
  // piece, because an arena is no sub-buffer, and its parts are disjoint.
  struct Whole {
    Placement placement;
    std::vector<int> users;
    int64_t part_bytes = 0;
    std::vector<std::vector<int>> parts;  // the users of each
  };
  static constexpr size_t kWholePiece = std::numeric_limits<size_t>::max();
  static constexpr size_t kNewParts = kWholePiece - 1;

  // The number of a free part of a piece, kWholePiece or kNewParts; nothing if the buffer does not
  // fit.
  std::optional<size_t> FreePart(const Whole& whole, int buffer, int64_t bytes,
                                 int64_t min_divided) const {
    if (whole.placement.bytes < bytes || AreUsedDuring(whole.users, buffer)) return std::nullopt;
    if (whole.parts.empty()) {
      const bool is_divided = whole.placement.bytes >= std::max(2 * bytes, min_divided);
      return is_divided ? kNewParts : kWholePiece;
    }
    const auto is_free = [&](const std::vector<int>& users) {
      return !AreUsedDuring(users, buffer);
    };
    if (whole.part_bytes < bytes) {
      const bool are_free = std::all_of(whole.parts.begin(), whole.parts.end(), is_free);
      return are_free ? std::optional(kWholePiece) : std::nullopt;
    }
    const auto part = std::find_if(whole.parts.begin(), whole.parts.end(), is_free);
    if (part == whole.parts.end()) return std::nullopt;
    return static_cast<size_t>(part - whole.parts.begin());
  }

  // Pieces that may be divided have arenas of their own; the others share arenas.
  Placement OpenWhole(int buffer, int64_t bytes, int64_t min_divided) {
    const bool is_alone = bytes >= min_divided;
    if (is_alone || shared_ < 0 || arena_bytes_[shared_] + bytes > max_arena_bytes_) {
      OpenArena();
      if (!is_alone) shared_ = static_cast<int>(arenas_.size()) - 1;
    }
    const int arena = is_alone ? static_cast<int>(arenas_.size()) - 1 : shared_;
    wholes_.push_back({{arena, arena_bytes_[arena], bytes}, {buffer}, 0, {}});
    arena_bytes_[arena] += bytes;
    return wholes_.back().placement;
  }

  void OpenArena() {
    arenas_.emplace_back();
    arena_bytes_.push_back(0);
  }

  bool IsUsedDuring(const Piece& piece, int buffer) const {
    return AreUsedDuring(piece.users, buffer);
  }

  bool AreUsedDuring(const std::vector<int>& users, int buffer) const {
    const Lifetime& life = lifetimes_[buffer];
    return std::any_of(users.begin(), users.end(), [&](int user) {
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
  std::vector<Whole> wholes_;
  int shared_ = -1;  // the last arena of several whole pieces
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
  const int64_t live = compiler::PeakOf(lifetimes, LastStep(lifetimes) + 1).bytes;
  const int64_t min_divided = std::max(live / kSmallShare, alignment);
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
    plan.placements[i] = sharing == Sharing::kWholePieces
                             ? planner.PlaceInWholePiece(i, bytes, min_divided)
                             : planner.PlaceAnywhere(i, bytes);
  }
  plan.arena_bytes = std::move(planner).arena_bytes();
  return plan;
}

}  // namespace tartan::evaluator
