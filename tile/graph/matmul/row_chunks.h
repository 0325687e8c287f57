// SPDX-License-Identifier: Apache-2.0
// Computes a region of rows chunk by chunk, so that one chunk of its large values is in memory.
#pragma once

#include <cstdint>

#include "tile/graph/matmul/row_region.h"
#include "tile/ir/program.h"

namespace tartan::graph {

// Replaces the members of a region by copies for `chunks` equal parts of its rows, one part after
// the other. `chunks` divides `region.extent`. Results with rows are concatenated. Sums over rows
// are added in the order of the chunks, so that they differ in rounding only.
ir::Program ComputeInChunks(const ir::Program& program, const RowRegion& region, int64_t chunks);

}  // namespace tartan::graph
