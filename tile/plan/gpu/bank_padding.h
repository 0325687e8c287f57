// SPDX-License-Identifier: Apache-2.0
// Padding that keeps transposing stores into a tile free of bank conflicts.
#pragma once

#include <cstdint>

#include "tile/plan/gpu_plan.h"

namespace tartan::plan {

// Work-items load vectors along a reduced index and store their elements one by one, if another
// index is contiguous in the tile. The strides of such a tile are multiples of a vector, so that
// the elements of a warp share few banks. Returns the elements that the tile has, for that reason,
// after the places of each loaded vector; 0: none are needed, or the tile has another form.
int64_t BankPadding(const poly::FlatContraction& flat, const GpuPlan& plan,
                    const StagedAccess& staged);

// All padding of the tile.
int64_t TotalBankPadding(const poly::FlatContraction& flat, const GpuPlan& plan,
                         const StagedAccess& staged);

}  // namespace tartan::plan
