// SPDX-License-Identifier: Apache-2.0
// A program of one planned kernel: what measuring plans needs.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "tile/compiler/compile_options.h"
#include "tile/compiler/kernel_list.h"
#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::compiler {

// `flat` is the kernel that was planned, with merged indices (poly::MergeIndices). Its tensors are
// the program's inputs, in order; those of `is_constant` are constants, and what is computed from
// them alone is computed once. Where the kernel does not write all of its outputs, they are zeroed
// first.
absl::StatusOr<KernelList> CompileKernel(const poly::FlatContraction& flat,
                                         const plan::PlannedKernel& planned,
                                         const std::vector<bool>& is_constant,
                                         const CompileOptions& options);

}  // namespace tartan::compiler
