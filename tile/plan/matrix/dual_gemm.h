// SPDX-License-Identifier: Apache-2.0
// Dual GEMM: fuses two tensor-core GEMMs that share a factor, as in gated linear units, into one
// kernel.
#pragma once

#include <optional>

#include "tile/base/hardware_settings.h"
#include "tile/plan/kernel_plan.h"

namespace tartan::plan {

// Adds the sums of `producer` to `reader`, which computes them where it reads `result`; `result` is
// no longer stored. Requires: all tensors of both kernels, packed ones and results included, have
// the values whose memory they are. Empty unless both are tensor-core plans that agree in all but
// the second factor and the epilogue, and `reader` reads `result` only at its own position. Also
// empty if the fused kernel is not predicted faster.
std::optional<PlannedKernel> FuseDualGemm(const PlannedKernel& reader,
                                          const PlannedKernel& producer, ir::ValueId result,
                                          const HardwareSettings& settings);

}  // namespace tartan::plan
