// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/cpu/lane_stores.h"

#include <cstdlib>

namespace tartan::plan {

bool StoresLanesByLoop(const poly::FlatContraction& flat, const CpuPlan& plan) {
  const int v = plan.vector_index;
  if (!flat.is_reduction() || plan.lanes < 2 || v >= flat.output_index_count ||
      flat.outputs.size() != 1 ||
      ComputeType(flat.outputs[0].shape.type) != flat.outputs[0].shape.type ||
      flat.outputs[0].shape.type == DataType::kBool || !flat.store_guard.empty()) {
    return false;
  }
  int64_t elements = 1;
  for (int i = 0; i < flat.output_index_count; ++i) elements *= plan.unroll[i];
  if (elements <= kMaxStraightStores) return false;
  const poly::FlatAccess output =
      poly::Flatten(flat.output_coords, flat.output_dims, static_cast<int>(flat.indices.size()));
  return std::abs(output.strides[v]) > 2;
}

}  // namespace tartan::plan
