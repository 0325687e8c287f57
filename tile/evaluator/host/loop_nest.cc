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

}  // namespace

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
