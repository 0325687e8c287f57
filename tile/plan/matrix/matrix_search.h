// SPDX-License-Identifier: Apache-2.0
// Plans of products for a GPU's matrix unit, and what they cost.
#pragma once

#include <optional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/base/precision.h"
#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// The plan of the fewest microseconds; nothing where the kernel is no sum of products of two reads
// of floats whose output indices belong to one of the factors each, or to both, or where the device
// has no matrix unit. Factors that are constant (`is_constant`, of the kernel's tensors) are packed
// in the unit's format, in the order of its tiles' rows, and so are others where what groups save
// that need not round, convert or gather is worth a kernel more. Of a kernel with merged indices.
std::optional<PlannedKernel> MatrixCandidate(const poly::FlatContraction& flat,
                                             const HardwareSettings& settings, MatrixFormat format,
                                             const std::vector<bool>& is_constant);

// Of each way to pack factors that are no constants the plan of the fewest microseconds, the one
// that packs none first.
std::vector<PlannedKernel> MatrixCandidates(const poly::FlatContraction& flat,
                                            const HardwareSettings& settings, MatrixFormat format,
                                            const std::vector<bool>& is_constant);

// The plan with the tiles of the fewest microseconds, where all but tiles, slices and stages is
// chosen; nothing where none have room.
std::optional<MatrixPlan> ChooseMatrixTiles(const poly::FlatContraction& flat, MatrixPlan plan,
                                            const HardwareSettings& settings);

}  // namespace tartan::plan
