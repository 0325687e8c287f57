// SPDX-License-Identifier: Apache-2.0
// What a plan for a GPU's matrix unit costs.
#pragma once

#include <cstdint>

#include "tile/base/hardware_settings.h"
#include "tile/plan/matrix/matrix_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Work-groups of the plan that a compute unit holds at once.
int64_t ResidentGroups(const MatrixPlan& plan, const HardwareSettings& settings);

// Of the kernel `flat`, whose constant factors are packed.
MatrixCost EstimateMatrixCost(const poly::FlatContraction& flat, const MatrixPlan& plan,
                              const HardwareSettings& settings);

// Of a stage of a chain (LowerMatrixPart), for one of its groups: cycles that the group shares with
// others on its compute unit, and cycles that it waits.
struct MatrixPartCycles {
  double work = 0;
  double wait = 0;
};
MatrixPartCycles EstimateMatrixPart(const poly::FlatContraction& flat, const MatrixPlan& plan,
                                    const HardwareSettings& settings);

}  // namespace tartan::plan
