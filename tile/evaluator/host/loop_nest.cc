// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/host/loop_nest.h"

#include <utility>

namespace tartan::evaluator {
namespace {

// Requires a positive divisor.
int64_t FloorDivide(int64_t a, int64_t b) {
  if (b == 1) return a;
  const int64_t quotient = a / b;
  return a % b < 0 ? quotient - 1 : quotient;
}
int64_t CeilDivide(int64_t a, int64_t b) { return -FloorDivide(-a, b); }

// Overhead of one innermost loop, in ns: finding its bounds. Empirical.
constexpr double kRunNs = 15;

// Estimated ns per point with this loop innermost (empirical). Accumulating into one element waits
// for the previous addition, and distant elements wait for memory.
double PointNs(const HostLoop& loop) {
  double ns = loop.steps[0] == 0 ? 1.3 : 1;
  for (const int64_t step : loop.steps) ns += step < -8 || step > 8 ? 1 : 0;
  return ns + kRunNs / static_cast<double>(std::max<int64_t>(loop.range, 1));
}

}  // namespace

size_t MoveFastestLoopInside(size_t outputs, std::vector<HostLoop>* loops,
                             std::vector<HostCondition>* conditions) {
  if (outputs == loops->size() || loops->empty()) return outputs;
  size_t best = loops->size() - 1;
  for (size_t l = 0; l < outputs; ++l) {
    if (PointNs((*loops)[l]) < PointNs((*loops)[best])) best = l;
  }
  const auto move = [best](auto& of_loops) {
    const auto place = of_loops.begin() + static_cast<int64_t>(best);
    std::rotate(place, place + 1, of_loops.end());
  };
  move(*loops);
  for (HostCondition& condition : *conditions) move(condition.coefficients);
  return best < outputs ? outputs - 1 : outputs;
}

LoopNest::LoopNest(Places start, std::vector<HostLoop> loops, std::vector<HostCondition> conditions)
    : start_(start), loops_(std::move(loops)), by_depth_(loops_.size()) {
  for (HostCondition& condition : conditions) {
    size_t depth = loops_.size();
    while (depth > 0 && condition.coefficients[depth - 1] == 0) --depth;
    (depth == 0 ? constants_ : by_depth_[depth - 1]).push_back(std::move(condition));
  }
}

double LoopNest::points() const {
  return loops_.empty() ? 1 : runs() * static_cast<double>(loops_.back().range);
}

double LoopNest::runs() const {
  double runs = 1;
  for (size_t l = 0; l + 1 < loops_.size(); ++l) runs *= static_cast<double>(loops_[l].range);
  return runs;
}

double LoopNest::nanoseconds() const {
  const double ns = kRunNs * runs();
  return loops_.empty() ? ns : ns + PointNs(loops_.back()) * points();
}

LoopNest LoopNest::Part(size_t loop, int64_t begin, int64_t end) const {
  LoopNest part = *this;
  part.loops_[loop].range = end - begin;
  for (size_t p = 0; p < start_.size(); ++p) part.start_[p] += begin * loops_[loop].steps[p];
  for (std::vector<HostCondition>& conditions : part.by_depth_) {
    for (HostCondition& condition : conditions) {
      condition.constant += begin * condition.coefficients[loop];
    }
  }
  return part;
}

bool LoopNest::HoldConstants() const {
  return std::all_of(constants_.begin(), constants_.end(), [](const HostCondition& condition) {
    return condition.constant >= 0 && condition.constant < condition.range;
  });
}

LoopNest::Bounds LoopNest::BoundsAt(size_t depth, const std::vector<int64_t>& point) const {
  Bounds bounds = {0, loops_[depth].range};
  for (const HostCondition& condition : by_depth_[depth]) {
    int64_t least = -condition.constant;
    for (size_t l = 0; l < depth; ++l) least -= condition.coefficients[l] * point[l];
    // The bounds of own * x, inclusive.
    const int64_t most = least + condition.range - 1;
    const int64_t own = condition.coefficients[depth];
    if (own > 0) {
      bounds.begin = std::max(bounds.begin, CeilDivide(least, own));
      bounds.end = std::min(bounds.end, FloorDivide(most, own) + 1);
    } else {
      bounds.begin = std::max(bounds.begin, CeilDivide(-most, -own));
      bounds.end = std::min(bounds.end, FloorDivide(-least, -own) + 1);
    }
  }
  return bounds;
}

}  // namespace tartan::evaluator
