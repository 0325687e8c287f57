// SPDX-License-Identifier: Apache-2.0
// Sums of several values over the same elements, in one pass over memory.
#pragma once

#include "tile/ir/program.h"

namespace tartan::graph {

// Joins two sums over the same dimensions into one sum with a further dimension, if both read a
// common large tensor element by element. Batch normalization has such pairs: a sum and a sum of
// squares, and the two sums of its gradient. Leaves sums of contiguous elements to row fusion.
ir::Program JoinSums(const ir::Program& program);

}  // namespace tartan::graph
