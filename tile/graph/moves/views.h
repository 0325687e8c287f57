// SPDX-License-Identifier: Apache-2.0
// Moves of elements that leave each of them where it is in memory.
#pragma once

#include "tile/ir/program.h"

namespace tartan::graph {

// The same program where a contraction whose result has the elements of its input in the same
// row-major order is a reshape, which is a view and no kernel: a transposition of dimensions of
// size 1, a copy, a slice of everything.
ir::Program MakeViews(const ir::Program& program);

}  // namespace tartan::graph
