// SPDX-License-Identifier: Apache-2.0
// Loop nests over the elements of up to four tensors, for computation on the host. Each loop moves
// each tensor's element index by a fixed step, and conditions exclude points.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace tartan::evaluator {

// Flat element indices: in the result first, then in its operands.
using Places = std::array<int64_t, 4>;

struct HostLoop {
  int64_t range = 0;
  Places steps = {};
};

// 0 <= constant + sum(coefficients[l] * loop l) < range.
struct HostCondition {
  std::vector<int64_t> coefficients;  // one per loop
  int64_t constant = 0;
  int64_t range = 0;
};

// Orders outputs outside and reductions inside, as in the definition, but moves the fastest loop
// innermost. The order of a sum's terms does not depend on which output loop is innermost. Returns
// the number of outer loops that are output loops.
size_t MoveFastestLoopInside(size_t outputs, std::vector<HostLoop>* loops,
                             std::vector<HostCondition>* conditions);

class LoopNest {
 public:
  // The first loop is the outermost. Values must be small enough that no sum of them overflows.
  LoopNest(Places start, std::vector<HostLoop> loops, std::vector<HostCondition> conditions = {});

  const std::vector<HostLoop>& loops() const { return loops_; }
  // The steps of the innermost loop; zeros if there are no loops.
  Places steps() const { return loops_.empty() ? Places{} : loops_.back().steps; }
  // Upper bounds on the number of points and of executions of the innermost loop.
  double points() const;
  double runs() const;
  // Estimated time of a multiplication and an addition at each point.
  double nanoseconds() const;

  // The points of the nest with begin <= loop < end.
  LoopNest Part(size_t loop, int64_t begin, int64_t end) const;

  // Calls visit(places, count) for each contiguous range of points of the innermost loop, in order.
  // `places` are the first point's indices; each next point is steps() further.
  template <class Visit>
  void ForEachRun(const Visit& visit) const {
    if (!HoldConstants()) return;
    std::vector<int64_t> point(loops_.size());
    if (loops_.empty()) return visit(start_, int64_t{1});
    Walk(0, start_, point, visit);
  }

  // Calls visit(places, counts) for each block of points of the innermost `inner` loops.
  // `places` are the first point's indices. No condition may depend on two of these loops.
  template <size_t inner, class Visit>
  void ForEachBlock(const Visit& visit) const {
    if (!HoldConstants()) return;
    std::vector<int64_t> point(loops_.size());
    WalkBlocks<inner>(0, start_, point, visit);
  }

 private:
  struct Bounds {
    int64_t begin;
    int64_t end;
  };
  bool HoldConstants() const;
  // The bounds of this loop under the conditions that depend on no inner loop.
  Bounds BoundsAt(size_t depth, const std::vector<int64_t>& point) const;

  template <class Visit>
  void Walk(size_t depth, Places at, std::vector<int64_t>& point, const Visit& visit) const {
    const auto [begin, end] = BoundsAt(depth, point);
    const Places& steps = loops_[depth].steps;
    for (size_t p = 0; p < at.size(); ++p) at[p] += begin * steps[p];
    if (depth + 1 == loops_.size()) {
      if (begin < end) visit(at, end - begin);
      return;
    }
    for (int64_t x = begin; x < end; ++x) {
      point[depth] = x;
      Walk(depth + 1, at, point, visit);
      for (size_t p = 0; p < at.size(); ++p) at[p] += steps[p];
    }
  }

  template <size_t inner, class Visit>
  void WalkBlocks(size_t depth, Places at, std::vector<int64_t>& point, const Visit& visit) const {
    if (depth + inner == loops_.size()) {
      std::array<int64_t, inner> counts;
      for (size_t i = 0; i < inner; ++i) {
        const auto [begin, end] = BoundsAt(depth + i, point);
        if (begin >= end) return;
        counts[i] = end - begin;
        for (size_t p = 0; p < at.size(); ++p) at[p] += begin * loops_[depth + i].steps[p];
      }
      return visit(at, counts);
    }
    const auto [begin, end] = BoundsAt(depth, point);
    for (size_t p = 0; p < at.size(); ++p) at[p] += begin * loops_[depth].steps[p];
    for (int64_t x = begin; x < end; ++x) {
      point[depth] = x;
      WalkBlocks<inner>(depth + 1, at, point, visit);
      for (size_t p = 0; p < at.size(); ++p) at[p] += loops_[depth].steps[p];
    }
  }

  Places start_;
  std::vector<HostLoop> loops_;
  std::vector<HostCondition> constants_;              // conditions that depend on no loop
  std::vector<std::vector<HostCondition>> by_depth_;  // by the innermost loop on which they depend
};

}  // namespace tartan::evaluator
