// SPDX-License-Identifier: Apache-2.0
// Products whose depth is divided among work-groups, as sums of products of parts of the depth.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "tile/ir/program.h"

namespace tartan::graph {

// Whether `value` is a product in float32 of one reduced index whose result elementwise operations
// lead to a reduction along rows, as a residual does to a normalisation: that one may add up what
// work-groups of the product have summed. `users`: UsersOf the program.
bool FeedsRowReduction(const ir::Program& program,
                       const std::vector<std::vector<ir::ValueId>>& users, ir::ValueId value);

struct SplitDepths {
  ir::Program program;
  std::vector<ir::ValueId> numbers;  // in it, of the original's values
};

// The same program with each of `runs`, products that FeedsRowReduction, divided into so many equal
// runs of its depth: a product with the runs as its first dimension, and the sum of its slices. The
// number divides the range of the reduced index.
SplitDepths SplitProductDepths(const ir::Program& program,
                               const std::map<ir::ValueId, int64_t>& runs);

// The range of the one reduced index of such a product.
int64_t DepthOf(const ir::Program& program, ir::ValueId value);

}  // namespace tartan::graph
