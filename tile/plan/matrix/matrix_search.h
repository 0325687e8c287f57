// SPDX-License-Identifier: Apache-2.0
// Searches tensor-core plans of GEMMs.
#pragma once

#include <optional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/base/precision.h"
#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Returns the fastest plan by the cost model. Empty if the device has no tensor cores. Empty,
// too, if the kernel is not a sum of two multiplied float reads whose output indices each belong
// to one factor or to both. Constant factors (`is_constant`, per tensor) are packed in the
// tensor core's format and tile order. Other factors are packed in each run if saved rounding,
// conversion or gathering repays another kernel. Requires merged indices.
std::optional<PlannedKernel> MatrixCandidate(const poly::FlatContraction& flat,
                                             const HardwareSettings& settings, MatrixFormat format,
                                             const std::vector<bool>& is_constant);

// Returns the fastest plan for each choice of non-constant factors to pack; the plan that packs
// none is first.
std::vector<PlannedKernel> MatrixCandidates(const poly::FlatContraction& flat,
                                            const HardwareSettings& settings, MatrixFormat format,
                                            const std::vector<bool>& is_constant);

// Chooses tiles, slices and stages for a plan that is otherwise complete. Empty if no tile fits
// local memory.
std::optional<MatrixPlan> ChooseMatrixTiles(const poly::FlatContraction& flat, MatrixPlan plan,
                                            const HardwareSettings& settings);

}  // namespace tartan::plan
