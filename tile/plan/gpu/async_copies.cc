// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/gpu/async_copies.h"

#include <algorithm>

namespace tartan::plan {

bool CanCopyAsync(const poly::FlatContraction& flat, const GpuPlan& plan) {
  constexpr int64_t kCopiedBytes = 16;  // bytes of an asynchronous copy
  return flat.is_reduction() && !plan.staged.empty() && plan.StepCount(flat) > 1 &&
         std::all_of(plan.staged.begin(), plan.staged.end(), [&](const StagedAccess& staged) {
           const DataType type = flat.tensors[flat.accesses[staged.access].tensor].shape.type;
           const TileLayout& layout = staged.layout;
           return !staged.is_there && type == ComputeType(type) && layout.StoresVectors() &&
                  layout.dims[layout.VectorDim()].vector * ByteWidth(type) == kCopiedBytes &&
                  staged.fill.value_or(0) == 0;
         });
}

int64_t MostLocalBytes(const GpuPlan& plan, const HardwareSettings& settings) {
  return plan.buffering == Buffering::kAsyncCopies ? settings.matrix_local_bytes
                                                   : settings.local_memory_bytes;
}

}  // namespace tartan::plan
