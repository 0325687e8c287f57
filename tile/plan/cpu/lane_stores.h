// SPDX-License-Identifier: Apache-2.0
// Results that lie apart where vectors have them side by side.
#pragma once

#include <cstdint>

#include "tile/plan/cpu/cpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Tiles of reductions that would store more elements one by one are too long as straight code.
inline constexpr int64_t kMostStraightStores = 64;

// The tile's vectors are kept in private memory, and a loop over their lanes stores an element of
// each: gradients by the weights of convolutions, whose channels are not neighbours.
bool StoresLanesInLoop(const poly::FlatContraction& flat, const CpuPlan& plan);

}  // namespace tartan::plan
