// SPDX-License-Identifier: Apache-2.0
// Removes concatenations whose readers each need a single part.
#pragma once

#include "tile/ir/program.h"

namespace tartan::graph {

// If every reader of a concatenation reads within one piece, it reads the piece directly, and the
// concatenation is dead. For example, a recurrent layer whose last state alone is used does not
// store all states.
ir::Program ReadPieces(const ir::Program& program);

}  // namespace tartan::graph
