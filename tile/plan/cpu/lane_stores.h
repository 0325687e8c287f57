// SPDX-License-Identifier: Apache-2.0
// Stores of vectors whose lanes are not contiguous in the output.
#pragma once

#include <cstdint>

#include "tile/plan/cpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Elements, maximum that one tile of a reduction stores by straight-line code; longer code takes
// too long to compile.
inline constexpr int64_t kMaxStraightStores = 64;

// Returns whether the tile's vectors are kept in private memory and stored by a loop over lanes,
// one element of each vector per iteration. Example: weight gradients of convolutions, whose
// channels are not contiguous.
bool StoresLanesByLoop(const poly::FlatContraction& flat, const CpuPlan& plan);

}  // namespace tartan::plan
