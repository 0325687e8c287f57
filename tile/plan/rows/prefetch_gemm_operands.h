// SPDX-License-Identifier: Apache-2.0
// Prefetching of GEMM operands into registers before the first stage of a fused row kernel. Useful
// if there are few work-groups, as in attention of one query, where no other group hides memory
// latency.
#pragma once

#include <cstdint>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/rows/row_group_plan.h"
#include "tile/poly/row_block.h"

namespace tartan::plan {

// Returns the indices along which the elements of an access differ within one work-item of the
// GEMM.
std::vector<int> PrefetchedIndices(const poly::FlatContraction& flat, const GpuPlan& product,
                                   int access);

// Returns the number of vectors (or elements) that a work-item reads by an access of the GEMM; 0 if
// it does not have all of them in registers at once.
int64_t PrefetchedVectors(const poly::FlatContraction& flat, const GpuPlan& product, int access);

// Lanes of such a vector.
int64_t PrefetchedLanes(const poly::FlatContraction& flat, const GpuPlan& product, int access);

// Chooses the accesses that are prefetched (RowGroupStage::fetched), if the device has a compute
// unit for each work-group.
void PrefetchGemmOperands(const std::vector<poly::RowKernel>& kernels,
                          const HardwareSettings& settings, RowGroupPlan* plan);

}  // namespace tartan::plan
