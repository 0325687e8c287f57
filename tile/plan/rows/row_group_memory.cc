// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/rows/row_group_memory.h"

#include <algorithm>
#include <set>

namespace tartan::plan {

bool MayBeStages(const std::vector<poly::RowKernel>& kernels) {
  return std::all_of(kernels.begin(), kernels.end(), [](const poly::RowKernel& kernel) {
    const poly::FlatContraction& flat = kernel.flat;
    return !flat.is_reduction() || (!flat.needs_hits() && flat.accumulator_type != DataType::kBool);
  });
}

bool PassesResultsInBuffers(const std::vector<poly::RowKernel>& kernels) {
  const std::set<ir::ValueId> written = poly::ResultsInMemory(kernels);
  return std::any_of(kernels.begin(), kernels.end(), [&](const poly::RowKernel& kernel) {
    return poly::ReadsFromMemory(kernel, written);
  });
}

std::vector<bool> LocalTensors(const poly::RowKernel& kernel) {
  std::vector<bool> is_local;
  for (int kept : kernel.tensors) is_local.push_back(kept >= 0);
  return is_local;
}

int64_t LocalBytesOfRows(const std::vector<poly::RowKernel>& kernels,
                         const std::vector<poly::RowTensor>& tensors, const RowGroupPlan& plan) {
  int64_t bytes = plan.walk.has_value() ? plan.BlockRows() * ByteWidth(DataType::kFloat32) : 0;
  std::set<DataType> partial_types;
  for (size_t s = 0; s < kernels.size(); ++s) {
    const poly::FlatContraction& flat = kernels[s].flat;
    const RowGroupStage& stage = plan.stages[s];
    const DataType type = flat.accumulator_type;
    if (flat.is_reduction() && !stage.product.has_value() && partial_types.insert(type).second) {
      bytes += 2 * plan.Threads() * plan.item_rows * ByteWidth(type);
    }
    if (kernels[s].output < 0 || !plan.Stores(s)) continue;
    if (plan.arrays[kernels[s].output] != kernels[s].output) continue;
    const poly::RowTensor& tensor = tensors[kernels[s].output];
    bytes += tensor.Shape(flat.outputs[0].shape.type, plan.block).byte_size();
  }
  return bytes;
}

}  // namespace tartan::plan
