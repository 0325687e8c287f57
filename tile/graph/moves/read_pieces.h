// SPDX-License-Identifier: Apache-2.0
// Concatenations of which single parts are read.
#pragma once

#include "tile/ir/program.h"

namespace tartan::graph {

// The same program where what reads a concatenation reads the piece that it needs, if every reader
// lies within one piece: nothing is concatenated then. So a recurrent layer whose last state alone
// is asked for does not store all of them.
ir::Program ReadPieces(const ir::Program& program);

}  // namespace tartan::graph
