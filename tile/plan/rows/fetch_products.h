// SPDX-License-Identifier: Apache-2.0
// What the products of a chain read of memory while nothing else is done: in launches of few
// groups, as attention of one query has, no other group computes while one waits.
#pragma once

#include <cstdint>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/plan/rows/row_group_plan.h"
#include "tile/poly/row_block.h"

namespace tartan::plan {

// The indices along which those elements of a work-item differ that a product reads by an access.
std::vector<int> FetchedIndices(const poly::FlatContraction& flat, const GpuPlan& product,
                                int access);

// How many elements of an access of a product a work-item reads, in vectors as it reads them; 0
// where it does not have all of them at once in registers.
int64_t FetchedVectors(const poly::FlatContraction& flat, const GpuPlan& product, int access);

// The lanes of such a vector.
int64_t FetchedLanes(const poly::FlatContraction& flat, const GpuPlan& product, int access);

// Chooses what is read into registers before the first stage (RowGroupStage::fetched), where the
// device has a unit for each group.
void FetchForProducts(const std::vector<poly::RowKernel>& kernels, const HardwareSettings& settings,
                      RowGroupPlan* plan);

}  // namespace tartan::plan
