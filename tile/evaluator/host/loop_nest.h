// SPDX-License-Identifier: Apache-2.0
// Loops over the elements of up to four tensors, for work that the host does: each element's place
// moves by a fixed step with each loop, and conditions leave points out.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace tartan::evaluator {

// Flat places in a result, the first, and in its operands.
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

class LoopNest {
 public:
  // The first loop is the outermost. Numbers must be so small that no sum of them overflows.
  LoopNest(Places start, std::vector<HostLoop> loops, std::vector<HostCondition> conditions = {});

  const std::vector<HostLoop>& loops() const { return loops_; }
  // Of the innermost loop; zeros without loops.
  Places steps() const { return loops_.empty() ? Places{} : loops_.back().steps; }
  // How many points there are at most, and how many runs of the innermost loop.
  double points() const;
  double runs() const;

  // Calls visit(places, count) for each run of points along the innermost loop, in order: the first
  // point's places; those of the next are steps() further.
  template <class Visit>
  void ForEachRun(const Visit& visit) const {
    if (!HoldConstants()) return;
    std::vector<int64_t> point(loops_.size());
    if (loops_.empty()) return visit(start_, int64_t{1});
    Walk(0, start_, point, visit);
  }

 private:
  struct Bounds {
    int64_t begin;
    int64_t end;
  };
  bool HoldConstants() const;
  // What the conditions that end with this loop leave of it.
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

  Places start_;
  std::vector<HostLoop> loops_;
  std::vector<HostCondition> constants_;              // those without a loop
  std::vector<std::vector<HostCondition>> by_depth_;  // by the last loop they depend on
};

}  // namespace tartan::evaluator
