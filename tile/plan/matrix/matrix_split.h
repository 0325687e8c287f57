// SPDX-License-Identifier: Apache-2.0
// Products for a GPU's matrix unit whose depth is divided among work-groups.
#pragma once

#include <optional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/base/precision.h"
#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// A kernel that adds up the sums of runs of the depth, which one for the matrix unit makes: where
// tiles of the results are too few for the device. Parameters as of MatrixCandidate; nothing where
// that has no plan for the runs.
std::optional<PlannedKernel> SplitMatrixCandidate(const poly::FlatContraction& flat,
                                                  const HardwareSettings& settings,
                                                  MatrixFormat format,
                                                  const std::vector<bool>& is_constant);

}  // namespace tartan::plan
