// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/gpu/bank_padding.h"

#include <algorithm>

#include "tile/plan/machine.h"

namespace tartan::plan {
namespace {

constexpr int64_t kBanks = 32;
constexpr int64_t kBankBytes = 4;

// Returns whether a work-item reads the dimension at positions that are known when loops are
// unrolled.
bool IsStepOfReduction(const poly::FlatContraction& flat, const GpuPlan& plan, const TileDim& dim) {
  if (dim.members.size() != 1 || dim.members[0].scale != 1) return false;
  const int index = dim.members[0].index;
  return index >= flat.output_index_count && plan.splits[index].threads == 1 &&
         plan.splits[index].vector == 1;
}

}  // namespace

int64_t BankPadding(const poly::FlatContraction& flat, const GpuPlan& plan,
                    const StagedAccess& staged) {
  const TileLayout& layout = staged.layout;
  const int loaded = layout.VectorDim();
  if (staged.is_there || loaded < 0) return 0;
  const TileDim& dim = layout.dims[loaded];
  const DataType type = flat.tensors[flat.accesses[staged.access].tensor].shape.type;
  if (ByteWidth(ComputeType(type)) != kBankBytes || !IsStepOfReduction(flat, plan, dim)) return 0;
  // The padding may not reach into another dimension, nor make vectors unaligned.
  bool has_near = false;
  for (int d = 0; d < static_cast<int>(layout.dims.size()); ++d) {
    has_near |= layout.dims[d].local_stride == 1 && layout.dims[d].vector == 1;
    if (d < loaded && layout.dims[d].threads > 1) return 0;
    if (d != loaded && layout.dims[d].local_stride >= dim.local_stride) return 0;
  }
  if (!has_near || dim.local_stride % dim.vector != 0) return 0;
  // The items of a warp beside each other along the near dimension take `near` banks.
  const int64_t items = std::min(dim.threads, gpu::kWarp);
  const int64_t near = std::max(gpu::kWarp / items, dim.vector);
  if (items == 1) return 0;
  const int64_t bank = dim.vector * dim.local_stride % kBanks;
  return (near + kBanks - bank) % kBanks;
}

int64_t TotalBankPadding(const poly::FlatContraction& flat, const GpuPlan& plan,
                         const StagedAccess& staged) {
  const int64_t padding = BankPadding(flat, plan, staged);
  if (padding == 0) return 0;
  const TileDim& dim = staged.layout.dims[staged.layout.VectorDim()];
  return padding * ((dim.range + dim.vector - 1) / dim.vector - 1);
}

}  // namespace tartan::plan
