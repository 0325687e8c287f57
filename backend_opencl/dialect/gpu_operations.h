// SPDX-License-Identifier: Apache-2.0
// Scalar operations whose text for GPUs works around a fault of their compilers.
#pragma once

#include "absl/types/span.h"
#include "tile/codegen/dialect.h"

namespace tartan::opencl {

// Apply (opencl_operations.h) for GPUs. NVIDIA's ptxas 13.0 joins two minima or maxima of 32-bit
// integers into one instruction of three operands (sm_90), and drops negations of these operands.
// Negations of data are therefore written so that the compiler does not see them.
codegen::Code ApplyOnGpu(ScalarOp op, const loop::Type& type, const loop::Type& result,
                         absl::Span<const codegen::Code> operands);

}  // namespace tartan::opencl
