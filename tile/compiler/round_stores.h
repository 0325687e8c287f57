// SPDX-License-Identifier: Apache-2.0
// Rounds operands of tf32 matrix units (10-bit fraction) where a kernel stores them.
#pragma once

#include <string>

#include "tile/compiler/schedule.h"
#include "tile/ir/program.h"
#include "tile/loop/loop_ir.h"

namespace tartan::compiler {

// Marks values that a kernel computes and only matrix units read (Schedule::rounded). They are
// rounded once, at the store, instead of in each work-group that reads them or by a separate copy.
void RoundStores(const ir::Program& program, Schedule* schedule);

// Returns the kernel with all stores to the float32 buffer `parameter` rounded to tf32.
loop::Kernel WithRoundedStores(loop::Kernel kernel, const std::string& parameter);

}  // namespace tartan::compiler
