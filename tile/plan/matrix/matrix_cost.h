// SPDX-License-Identifier: Apache-2.0
// Cost of tensor-core plans.
#pragma once

#include <cstdint>

#include "tile/base/hardware_settings.h"
#include "tile/plan/matrix_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Work-groups of the plan that fit a compute unit at the same time.
int64_t ResidentGroups(const MatrixPlan& plan, const HardwareSettings& settings);

// Estimates the cost of a kernel `flat` whose constant factors are packed.
MatrixCost EstimateMatrixCost(const poly::FlatContraction& flat, const MatrixPlan& plan,
                              const HardwareSettings& settings);

// Cycles of one work-group for a GEMM stage of a fused row kernel (LowerMmaPart). `work`: cycles
// that the groups of a compute unit share. `wait`: stall cycles.
struct MatrixPartCycles {
  double work = 0;
  double wait = 0;
};
MatrixPartCycles EstimateMatrixPart(const poly::FlatContraction& flat, const MatrixPlan& plan,
                                    const HardwareSettings& settings);

}  // namespace tartan::plan
