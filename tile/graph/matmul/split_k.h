// SPDX-License-Identifier: Apache-2.0
// Split-K on the graph: divides the K dimension of matmuls among work-groups.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "tile/ir/program.h"

namespace tartan::graph {

// Returns true for a float32 matmul with one reduced index whose result reaches a row reduction
// through elementwise operations. An example is a residual before a layer norm. The row reduction's
// kernel can add up the partial sums. `users`: UsersOf the program.
bool FeedsRowReduction(const ir::Program& program,
                       const std::vector<std::vector<ir::ValueId>>& users, ir::ValueId value);

struct SplitKMatmuls {
  ir::Program program;
  std::vector<ir::ValueId> numbers;  // new number of each original value
};

// Splits K of each matmul in `runs` into the given number of equal chunks: a batched matmul with
// the chunks as first dimension, followed by the sum of its slices. Requires FeedsRowReduction, and
// that the number divides K.
SplitKMatmuls SplitK(const ir::Program& program, const std::map<ir::ValueId, int64_t>& runs);

// Returns K, the range of the reduced index.
int64_t ReducedExtent(const ir::Program& program, ir::ValueId value);

}  // namespace tartan::graph
