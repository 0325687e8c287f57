// SPDX-License-Identifier: Apache-2.0
// Two products of one factor on a matrix unit as one kernel: a gate and what it multiplies.
#pragma once

#include <optional>

#include "tile/base/hardware_settings.h"
#include "tile/plan/kernel_plan.h"

namespace tartan::plan {

// `reader` with the sums of `producer` beside its own, computed where it reads `result`, which the
// producer gives and which is stored no more. All tensors of both flats have the values whose
// memory they are, packed ones as well, and so have those of the result. Nothing where these are
// not plans for a matrix unit alike in all but the second factor and what follows the sums, where
// results are not read at their own places alone, or where both apart are expected to be as quick.
std::optional<PlannedKernel> PairMatrixProducts(const PlannedKernel& reader,
                                                const PlannedKernel& producer, ir::ValueId result,
                                                const HardwareSettings& settings);

}  // namespace tartan::plan
