// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/ranks/gather_schedule.h"

#include <algorithm>

namespace tartan::train {
namespace {

// The steps at whose beginning each gather begins: at the first use of the bucket before it.
std::vector<int64_t> OwnStarts(const GatherNeeds& needs) {
  std::vector<int64_t> latest(needs.uses.size());
  int64_t next = needs.steps;
  for (size_t g = latest.size(); g-- > 0;) {
    if (needs.IsUsed(g)) next = std::min(next, needs.uses[g].first);
    latest[g] = next;
  }
  std::vector<int64_t> starts = latest;
  int64_t previous = -1;  // the start of the last gather that is used
  for (size_t g = 0; g < starts.size(); ++g) {
    if (previous >= 0) starts[g] = previous;
    if (needs.IsUsed(g)) previous = latest[g];
  }
  return starts;
}

// A bucket that the backward pass uses early, such as a tied embedding, makes it gather all buckets
// before this one. Such a bucket stays between the passes unless this needs more memory.
void KeepEarlyBuckets(GatherNeeds* needs) {
  const size_t count = needs->buckets();
  const auto bytes = [&] { return PlaceParameters(*needs, OrderOf(*needs)).bytes(); };
  int64_t least = bytes();
  for (size_t b = count; b-- > 0;) {
    BucketUse& forward = needs->uses[count - 1 - b];
    BucketUse& backward = needs->uses[count + b];
    if (!needs->IsUsed(count + b)) continue;
    const bool is_early = std::any_of(
        needs->uses.begin() + count, needs->uses.begin() + count + b,
        [&](const BucketUse& use) { return use.first < use.last && use.first > backward.first; });
    if (!is_early) continue;
    const BucketUse passes[] = {forward, backward};
    forward.last = backward.last;
    backward.first = backward.last = 0;
    const int64_t kept = bytes();
    if (kept <= least) {  // equal: another early bucket may still hold up the others
      least = kept;
    } else {
      forward = passes[0];
      backward = passes[1];
    }
  }
}

}  // namespace

GatherNeeds NeedsOf(absl::Span<const std::vector<int64_t>> steps, absl::Span<const int64_t> bytes,
                    absl::Span<const BucketUse> gradients) {
  const size_t count = steps.size();
  GatherNeeds needs;
  needs.uses.resize(2 * count);
  for (const BucketUse& use : gradients) {
    needs.steps = std::max(needs.steps, use.last);
    needs.reduced.push_back(needs.steps);
  }
  int64_t turn = -1;  // the first use of the last layer: the backward pass follows
  for (size_t b = 0; b < count; ++b) {
    BucketUse& forward = needs.uses[count - 1 - b];
    BucketUse& backward = needs.uses[count + b];
    forward.bytes = backward.bytes = bytes[b];
    if (steps[b].empty()) continue;
    forward.first = steps[b].front();
    forward.last = steps[b].back() + 1;
    needs.steps = std::max(needs.steps, forward.last);
    if (turn < 0) {
      turn = forward.first;
      continue;
    }
    const auto second = std::upper_bound(steps[b].begin(), steps[b].end(), turn);
    if (gradients.empty() || second == steps[b].begin() || second == steps[b].end()) continue;
    backward.first = *second;
    backward.last = forward.last;
    forward.last = *std::prev(second) + 1;
  }
  KeepEarlyBuckets(&needs);
  return needs;
}

GatherOrder OrderOf(const GatherNeeds& needs) {
  GatherOrder order;
  for (size_t g = 0; g < needs.uses.size(); ++g) order.push_back(needs.IsUsed(g) ? 1 : 0);
  const std::vector<int64_t> starts = OwnStarts(needs);
  for (const int64_t reduced : needs.reduced)
    order.push_back(std::lower_bound(starts.begin(), starts.end(), reduced) - starts.begin());
  return order;
}

MemoryPlaces PlaceParameters(const GatherNeeds& needs, const GatherOrder& order) {
  std::vector<int64_t> starts = OwnStarts(needs);
  for (size_t b = 0; b < needs.reduced.size(); ++b) {
    const auto before = static_cast<size_t>(order[starts.size() + b]);
    for (size_t g = 0; g < before; ++g) starts[g] = std::min(starts[g], needs.reduced[b]);
  }
  std::vector<MemoryBlock> blocks(needs.buckets());
  for (size_t g = 0; g < needs.uses.size(); ++g) {
    MemoryBlock& block = blocks[needs.BucketOf(g)];
    block.bytes = needs.uses[g].bytes;
    if (order[g] == 0) continue;
    block.taken.push_back({starts[g], std::max(starts[g] + 1, needs.uses[g].last)});
  }
  return PlaceBlocks(blocks);
}

}  // namespace tartan::train
