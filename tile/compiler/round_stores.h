// SPDX-License-Identifier: Apache-2.0
// Factors of products on matrix units that see 10 bits of a float32's fraction (tf32).
#pragma once

#include <string>
#include <vector>

#include "tile/compiler/schedule.h"
#include "tile/ir/program.h"
#include "tile/loop/loop_ir.h"

namespace tartan::compiler {

// What kernels compute and matrix units alone read is rounded where it is stored
// (Schedule::rounded), once, and no more in local memory by each work-group that reads it, nor
// copied to be rounded.
// `storage`: of each value of the program, the one that holds its elements.
void RoundStores(const ir::Program& program, const std::vector<ir::ValueId>& storage,
                 Schedule* schedule);

// The kernel with all that it stores in a parameter, float32, rounded.
loop::Kernel WithRoundedStores(loop::Kernel kernel, const std::string& parameter);

}  // namespace tartan::compiler
