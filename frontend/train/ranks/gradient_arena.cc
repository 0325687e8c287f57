// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/ranks/gradient_arena.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tartan::train {
namespace {

int64_t Aligned(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

struct Span {
  int64_t begin = 0;
  int64_t end = 0;

  bool Overlaps(const Span& other) const { return begin < other.end && other.begin < end; }
};

// The steps during which the memory of each bucket is taken.
std::vector<Span> TakenSteps(absl::Span<const BucketUse> uses) {
  std::vector<Span> taken;
  int64_t reduced = 0;  // the step after which this bucket and all before it can be reduced
  for (size_t b = 0; b < uses.size(); ++b) {
    reduced = std::max(reduced, uses[b].last);
    taken.push_back({uses[b].first, reduced});
  }
  // The reduction needs time, which the next bucket gives it.
  for (size_t b = 0; b + 1 < uses.size(); ++b)
    taken[b].end = std::max(taken[b].end, taken[b + 1].end);
  return taken;
}

}  // namespace

ArenaPlan PlanArena(absl::Span<const BucketUse> uses, int64_t alignment) {
  const std::vector<Span> taken = TakenSteps(uses);
  ArenaPlan plan;
  plan.offsets.resize(uses.size());
  plan.after.resize(uses.size());
  // The largest first, each at the lowest free place.
  std::vector<size_t> order(uses.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return uses[a].bytes > uses[b].bytes; });
  std::vector<Span> places(uses.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t bucket = order[i];
    std::vector<Span> occupied;
    for (size_t j = 0; j < i; ++j) {
      if (taken[order[j]].Overlaps(taken[bucket])) occupied.push_back(places[order[j]]);
    }
    std::sort(occupied.begin(), occupied.end(),
              [](const Span& a, const Span& b) { return a.begin < b.begin; });
    int64_t place = 0;
    for (const Span& other : occupied) {
      if (place + uses[bucket].bytes <= other.begin) break;
      place = std::max(place, Aligned(other.end, alignment));
    }
    places[bucket] = {place, place + uses[bucket].bytes};
    plan.offsets[bucket] = place;
    plan.bytes = std::max(plan.bytes, places[bucket].end);
  }
  for (size_t b = 0; b < uses.size(); ++b) {
    for (size_t other = 0; other < uses.size(); ++other) {
      const bool is_earlier = taken[other].end <= taken[b].begin;
      if (other != b && is_earlier && places[other].Overlaps(places[b]))
        plan.after[b].push_back(other);
    }
  }
  return plan;
}

}  // namespace tartan::train
