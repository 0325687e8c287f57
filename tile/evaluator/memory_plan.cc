#include "tile/evaluator/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace tartan::evaluator {
namespace {

struct Placed {
  int64_t begin, end;  // bytes
  int first, last;     // steps
};

// The lowest offset in an arena where `lifetime` of `bytes` meets no buffer alive at the same time.
int64_t LowestOffset(const std::vector<Placed>& arena, const Lifetime& lifetime, int64_t bytes) {
  int64_t offset = 0;
  for (const Placed& placed : arena) {  // sorted by begin
    const bool together = placed.first <= lifetime.last && lifetime.first <= placed.last;
    if (!together) continue;
    if (placed.begin >= offset + bytes) break;
    offset = std::max(offset, placed.end);
  }
  return offset;
}

}  // namespace

int64_t MemoryPlan::total_bytes() const {
  return std::accumulate(arena_bytes.begin(), arena_bytes.end(), int64_t{0});
}

absl::StatusOr<MemoryPlan> PlanMemory(absl::Span<const Lifetime> lifetimes, int64_t alignment,
                                      int64_t max_arena_bytes) {
  MemoryPlan plan;
  plan.placements.resize(lifetimes.size());
  std::vector<std::vector<Placed>> arenas;
  // Large buffers first: small ones fit into the gaps between them.
  std::vector<int> order(lifetimes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
  for (int i : order) {
    const Lifetime& lifetime = lifetimes[i];
    const int64_t units = std::max<int64_t>((lifetime.bytes + alignment - 1) / alignment, 1);
    const int64_t bytes = units * alignment;
    if (bytes > max_arena_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("a buffer of ", lifetime.bytes,
                       " bytes is larger than the device's largest allocation, ", max_arena_bytes));
    }
    for (size_t a = 0;; ++a) {
      if (a == arenas.size()) {
        arenas.emplace_back();
        plan.arena_bytes.push_back(0);
      }
      const int64_t offset = LowestOffset(arenas[a], lifetime, bytes);
      if (offset + bytes > max_arena_bytes) continue;
      const Placed placed = {offset, offset + bytes, lifetime.first, lifetime.last};
      const auto at = std::upper_bound(
          arenas[a].begin(), arenas[a].end(), placed,
          [](const Placed& x, const Placed& y) { return x.begin < y.begin; });
      arenas[a].insert(at, placed);
      plan.arena_bytes[a] = std::max(plan.arena_bytes[a], placed.end);
      plan.placements[i] = {static_cast<int>(a), offset};
      break;
    }
  }
  return plan;
}

}  // namespace tartan::evaluator
