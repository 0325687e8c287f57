// SPDX-License-Identifier: Apache-2.0
// Which plan a kernel gets: every planner proposes, one place decides.
#pragma once

#include <cstdint>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/base/precision.h"
#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// The best plan that the device's cost model finds; never fails. CPU devices are those with
// settings.threads == 1. `is_constant` tells of each tensor whether its copy can be made once.
// Products may go to a matrix unit as `precision` allows.
PlannedKernel PlanKernel(const poly::FlatContraction& flat, const HardwareSettings& settings,
                         const std::vector<bool>& is_constant,
                         Precision precision = Precision::kFloat32);

// Up to `count` plans, the one that PlanKernel returns first: what is worth measuring.
std::vector<PlannedKernel> PlanCandidates(const poly::FlatContraction& flat,
                                          const HardwareSettings& settings,
                                          const std::vector<bool>& is_constant, int count,
                                          Precision precision = Precision::kFloat32);

// The number of equal runs of the depth in which the matrix unit makes a product soonest where what
// reads their sums adds these up in passing; 1: it is best whole, or no product of the unit's.
int64_t BestDepthRuns(const poly::FlatContraction& flat, const HardwareSettings& settings,
                      const std::vector<bool>& is_constant, Precision precision);

}  // namespace tartan::plan
