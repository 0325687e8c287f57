// SPDX-License-Identifier: Apache-2.0
// Products for a GPU's matrix unit whose depth is divided among work-groups.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/base/precision.h"
#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"
#include "tile/poly/split_reduction.h"

namespace tartan::plan {

// A kernel that adds up the sums of runs of the depth, which one for the matrix unit makes: where
// tiles of the results are too few for the device. Parameters as of MatrixCandidate; nothing where
// that has no plan for the runs.
std::optional<PlannedKernel> SplitMatrixCandidate(const poly::FlatContraction& flat,
                                                  const HardwareSettings& settings,
                                                  MatrixFormat format,
                                                  const std::vector<bool>& is_constant);

// A product as two kernels: one for the matrix unit makes the sums of runs of its depth, the other
// one adds them up.
struct DepthSplit {
  poly::SplitKernel kernels;
  int64_t runs = 1;
  double partial_us = 0;  // predicted, of the first kernel
  double moving_us = 0;   // what it makes
};

// The quickest by the first kernel and by what it writes; nothing where the matrix unit makes none.
// `only_equal`: all runs have the same length, and what follows adds up their sums in passing.
std::optional<DepthSplit> BestDepthSplit(const poly::FlatContraction& flat,
                                         const HardwareSettings& settings, MatrixFormat format,
                                         const std::vector<bool>& is_constant, bool only_equal);

}  // namespace tartan::plan
