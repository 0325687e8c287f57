// SPDX-License-Identifier: Apache-2.0
// Entry point of lowering: a kernel's tables and its plan become loop IR.
#pragma once

#include <string>

#include "tile/loop/loop_ir.h"
#include "tile/lower/emit/lower_options.h"
#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

// Parameters: one per output ("out0" …), then one per tensor read ("in0" …), in the order of
// flat.outputs and flat.tensors. Index arithmetic is 32-bit unless a tensor has 2^31 elements.
loop::Kernel LowerKernel(const poly::FlatContraction& flat, const plan::KernelPlan& plan,
                         const std::string& name, const LowerOptions& options);

}  // namespace tartan::lower
