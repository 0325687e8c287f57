// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/gpu/held_index.h"

#include <cstdint>
#include <vector>

namespace tartan::plan {

int HeldIndex(const poly::FlatContraction& flat) {
  constexpr int64_t kMaxHeld = 4;
  const bool is_sum = flat.is_reduction() && flat.point_count() > flat.output_point_count();
  if (flat.accumulator_index >= 0 || !is_sum) return flat.accumulator_index;
  std::vector<bool> is_needed(flat.indices.size(), false);
  for (int a = 0; a < static_cast<int>(flat.accesses.size()); ++a) {
    const std::vector<int64_t> strides = poly::Flatten(flat, a).strides;
    for (size_t i = 0; i < strides.size(); ++i) {
      if (strides[i] != 0) is_needed[i] = true;
    }
  }
  for (const math::RangeConstraint& constraint : flat.constraints) {
    for (size_t i = 0; i < is_needed.size(); ++i) {
      if (!constraint.poly.coefficient(static_cast<int>(i)).is_zero()) is_needed[i] = true;
    }
  }
  for (int i = 0; i < flat.output_index_count; ++i) {
    const int64_t range = flat.indices[i].range;
    if (!is_needed[i] && range > 1 && range <= kMaxHeld) return i;
  }
  return -1;
}

}  // namespace tartan::plan
