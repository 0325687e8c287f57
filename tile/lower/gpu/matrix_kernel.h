// SPDX-License-Identifier: Apache-2.0
// A kernel whose products a matrix unit makes: tiles of both factors in local memory, accumulators
// spread over the work-items as the unit wants them, and results stored by way of local memory.
#pragma once

#include <string>

#include "tile/loop/loop_ir.h"
#include "tile/lower/lower_options.h"
#include "tile/plan/matrix/matrix_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

// Parameters as in LowerKernel. Requires a plan of plan::MatrixCandidate.
loop::Kernel LowerMatrixKernel(const poly::FlatContraction& flat, const plan::MatrixPlan& plan,
                               const std::string& name, const LowerOptions& options);

}  // namespace tartan::lower
