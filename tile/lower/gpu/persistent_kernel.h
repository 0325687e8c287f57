// SPDX-License-Identifier: Apache-2.0
// Lowers persistent kernels: one work-group keeps its weights over a batch of launches.
#pragma once

#include <string>

#include "tile/loop/loop_ir.h"
#include "tile/lower/emit/lower_options.h"
#include "tile/plan/persistent_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

// Parameters as in LowerKernel. Requires a plan that plan::PersistentCandidate has made.
loop::Kernel LowerPersistent(const poly::FlatContraction& flat, const plan::PersistentPlan& plan,
                             const std::string& name, const LowerOptions& options);

}  // namespace tartan::lower
