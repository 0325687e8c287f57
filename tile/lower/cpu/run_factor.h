// SPDX-License-Identifier: Apache-2.0
// Factors of a sum that are the same all over a run: scales of blocks of weights.
#pragma once

#include <optional>

#include "tile/plan/cpu/cpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

struct RunFactor {
  poly::ExprPtr rest;      // of the body, which is summed up in a run
  poly::ExprPtr factor;    // of the run's sum
  bool is_of_run = false;  // the factor differs from run to run: it is the scale of a block
};

// Where the steps of the outermost loop over a reduced index may be runs, each with such a factor.
std::optional<RunFactor> SplitRunFactor(const poly::FlatContraction& flat,
                                        const plan::CpuPlan& plan);

}  // namespace tartan::lower
