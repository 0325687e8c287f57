// SPDX-License-Identifier: Apache-2.0
// View propagation: replaces copies that do not move elements by reshapes.
#pragma once

#include "tile/ir/program.h"

namespace tartan::graph {

// Replaces a contraction by a reshape if its result has the elements of its input in the same
// row-major order. A reshape is a view and needs no kernel. Examples: a transpose of dimensions of
// size 1, a copy, a full slice.
ir::Program MakeViews(const ir::Program& program);

}  // namespace tartan::graph
