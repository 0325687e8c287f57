// SPDX-License-Identifier: Apache-2.0
// Moves 16-bit values instead of their conversions to float32.
#pragma once

#include "tile/ir/program.h"

namespace tartan::graph {

// Reshapes, transposes, slices and concatenations of values that were converted from one 16-bit
// type to float32 move the 16-bit values. They are converted where they are read. The same holds
// for moved values that all readers round to one 16-bit type: they are rounded before the move. The
// results are equal.
ir::Program MoveNarrowValues(const ir::Program& program);

}  // namespace tartan::graph
