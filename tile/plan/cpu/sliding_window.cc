// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/cpu/sliding_window.h"

#include <algorithm>
#include <cstdlib>

namespace tartan::plan {
namespace {

// Maximum number of border tiles of a loop that are generated separately.
constexpr int64_t kMaxEdgeTiles = 4;

bool IsWindowConstraint(const poly::FlatContraction& flat, const CpuPlan& plan,
                        const math::RangeConstraint& constraint, int i) {
  bool has_unrolled = false;
  for (int other = 0; other < static_cast<int>(flat.indices.size()); ++other) {
    if (constraint.poly.coefficient(other).is_zero()) continue;
    const bool unrolled = IsUnrolled(flat, plan, other);
    if (other != i && !unrolled) return false;
    has_unrolled |= unrolled;
  }
  return has_unrolled && !constraint.poly.coefficient(i).is_zero();
}

// Returns whether the constraint holds in the whole tile that begins at `at` along index i.
bool HoldsInTile(const poly::FlatContraction& flat, const CpuPlan& plan,
                 const math::RangeConstraint& constraint, int i, int64_t at) {
  int64_t least =
      constraint.poly.constant.numerator() + constraint.poly.coefficient(i).numerator() * at;
  int64_t greatest = least;
  for (int other = 0; other < static_cast<int>(flat.indices.size()); ++other) {
    const int64_t reach = constraint.poly.coefficient(other).numerator() * (plan.unroll[other] - 1);
    (reach < 0 ? least : greatest) += reach;
  }
  return least >= 0 && greatest < constraint.range;
}

}  // namespace

bool IsUnrolled(const poly::FlatContraction& flat, const CpuPlan& plan, int i) {
  return i >= flat.output_index_count && i != plan.vector_index && plan.unroll[i] > 1;
}

bool HasWindow(const poly::FlatContraction& flat, const CpuPlan& plan) {
  for (int i = flat.output_index_count; i < static_cast<int>(flat.indices.size()); ++i) {
    if (IsUnrolled(flat, plan, i)) return true;
  }
  return false;
}

std::vector<math::RangeConstraint> WindowConstraints(const poly::FlatContraction& flat,
                                                     const CpuPlan& plan, int i) {
  std::vector<math::RangeConstraint> found;
  for (const math::RangeConstraint& constraint : flat.constraints) {
    if (IsWindowConstraint(flat, plan, constraint, i)) found.push_back(constraint);
  }
  return found;
}

std::optional<TileRange> InnerTiles(const poly::FlatContraction& flat, const CpuPlan& plan, int i) {
  const int64_t range = flat.indices[i].range;
  const int64_t step = plan.unroll[i];
  const std::vector<math::RangeConstraint> constraints = WindowConstraints(flat, plan, i);
  if (constraints.empty()) return std::nullopt;
  // An overlapping last tile counts as a border tile.
  const int64_t whole = range / step;
  const auto is_inner = [&](int64_t tile) {
    return std::all_of(constraints.begin(), constraints.end(), [&](const auto& constraint) {
      return HoldsInTile(flat, plan, constraint, i, tile * step);
    });
  };
  TileRange inner;
  while (inner.begin < whole && inner.begin <= kMaxEdgeTiles && !is_inner(inner.begin)) {
    ++inner.begin;
  }
  inner.end = whole;
  const int64_t count = (range + step - 1) / step;
  const auto edges = [&] { return inner.begin + count - inner.end; };
  while (inner.end > inner.begin && edges() <= kMaxEdgeTiles && !is_inner(inner.end - 1)) {
    --inner.end;
  }
  if (edges() > kMaxEdgeTiles) return std::nullopt;
  return inner;
}

int64_t DistinctElements(const CpuPlan& plan, const std::vector<int64_t>& strides) {
  std::vector<int64_t> places = {0};
  for (size_t i = 0; i < strides.size(); ++i) {
    const bool is_vector = static_cast<int>(i) == plan.vector_index;
    const int64_t step = is_vector ? plan.lanes : 1;
    if (strides[i] == 0 || plan.unroll[i] == step) continue;
    std::vector<int64_t> spread;
    for (int64_t at = 0; at < plan.unroll[i]; at += step) {
      for (int64_t place : places) spread.push_back(place + at * strides[i]);
    }
    std::sort(spread.begin(), spread.end());
    spread.erase(std::unique(spread.begin(), spread.end()), spread.end());
    places = std::move(spread);
  }
  return static_cast<int64_t>(places.size());
}

bool Slides(const poly::FlatContraction& flat, const std::vector<int64_t>& strides, int output,
            int reduced) {
  const int64_t step = std::abs(strides[output]);
  const int64_t inner = std::abs(strides[reduced]);
  return step != 0 && inner != 0 && step % inner == 0 && step < inner * flat.indices[reduced].range;
}

}  // namespace tartan::plan
