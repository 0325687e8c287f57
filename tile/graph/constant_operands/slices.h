// SPDX-License-Identifier: Apache-2.0
// Replaces gathers at a constant position by slices.
#pragma once

#include "tile/ir/program.h"

namespace tartan::graph {

// Replaces each gather at a literal position by a contraction that reads there. Kernels can inline
// such a slice, whereas a gather at computed positions needs its operand in memory.
ir::Program SliceConstantGathers(const ir::Program& program);

}  // namespace tartan::graph
