// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/cpu/valid_lanes.h"

#include <algorithm>

namespace tartan::lower {
namespace {

// The value of the polynomial at the first lane; nothing if it is not a constant.
std::optional<int64_t> ValueAt(const IndexEmitter& indices, const math::Affine& poly,
                               const Position& position) {
  return loop::LiteralValue(indices.Emit(poly + math::Affine::Constant(ShiftAt(poly, position))));
}

}  // namespace

bool IsDecided(const IndexEmitter& indices, const math::RangeConstraint& constraint) {
  return loop::LiteralValue(indices.Emit(constraint.poly)).has_value();
}

LaneRange ValidLanes(const IndexEmitter& indices,
                     const std::vector<math::RangeConstraint>& constraints,
                     const VectorShape& vector, const Position& position) {
  LaneRange valid = {0, vector.lanes};
  for (const math::RangeConstraint& constraint : constraints) {
    const int64_t first = *ValueAt(indices, constraint.poly, position);
    const int64_t step =
        vector.lanes == 1 ? 0 : constraint.poly.coefficient(vector.index).numerator();
    const auto holds = [&](int lane) {
      const int64_t value = first + lane * step;
      return value >= 0 && value < constraint.range;
    };
    while (!valid.empty() && !holds(valid.begin)) ++valid.begin;
    while (!valid.empty() && !holds(valid.end - 1)) --valid.end;
  }
  return valid;
}

std::optional<int> DistanceToValid(const poly::FlatContraction& flat, const IndexEmitter& indices,
                                   const std::vector<math::RangeConstraint>& constraints,
                                   const VectorShape& vector, const Position& position) {
  const auto begin = loop::LiteralValue(indices.value(vector.index));
  if (!begin || vector.index >= flat.output_index_count) return std::nullopt;
  const LaneRange valid = ValidLanes(indices, constraints, vector, position);
  for (int distance : {valid.begin, valid.end - vector.lanes}) {
    Position moved = position;
    moved[vector.index] += distance;
    const int64_t first = *begin + moved[vector.index];
    if (first < 0 || first + vector.lanes > flat.indices[vector.index].range) continue;
    const LaneRange there = ValidLanes(indices, constraints, vector, moved);
    if (there.begin == 0 && there.end == vector.lanes) return distance;
  }
  return std::nullopt;
}

}  // namespace tartan::lower
