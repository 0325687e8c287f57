// SPDX-License-Identifier: Apache-2.0
// Compiles a single planned kernel into a program of its own, so that the tuner can measure the
// plan.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "tile/compiler/compile_options.h"
#include "tile/compiler/kernel_list.h"
#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::compiler {

// `flat` is the planned kernel with merged indices (poly::MergeIndices).
// The tensors of `flat` are the program's inputs, in order. Tensors marked in `is_constant` are
// constants, and values that depend only on constants are computed once, at load. Outputs that the
// kernel does not write completely are zeroed first.
absl::StatusOr<KernelList> CompileKernel(const poly::FlatContraction& flat,
                                         const plan::PlannedKernel& planned,
                                         const std::vector<bool>& is_constant,
                                         const CompileOptions& options);

}  // namespace tartan::compiler
