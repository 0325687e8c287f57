// SPDX-License-Identifier: Apache-2.0
// Dual GEMM on a matrix unit: fuses the two matmuls of a gated linear unit into one launch.
#pragma once

#include "tile/compiler/schedule.h"
#include "tile/fuse/judge.h"
#include "tile/ir/program.h"

namespace tartan::compiler {

// Fuses two matmuls of one left factor into one kernel with two accumulators
// (plan/matrix/dual_gemm.h). Requires that only the second matmul reads the result of the first,
// element by element.
void FuseDualGemms(const ir::Program& program, fuse::Judge* judge, Schedule* schedule);

}  // namespace tartan::compiler
