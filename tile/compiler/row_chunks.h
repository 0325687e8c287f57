// SPDX-License-Identifier: Apache-2.0
// Decides in how many parts the rows of large matmuls are computed, such as the logits of a cross
// entropy.
#pragma once

#include <cstdint>

#include "tile/compiler/compile_options.h"
#include "tile/graph/matmul/row_region.h"

namespace tartan::compiler {

// Minimum elements of a matmul whose rows may be computed in chunks: 16 MiB of float32.
inline constexpr int64_t kMinChunkedElements = 1 << 22;

// Returns the largest number of chunks that costs little of the region's predicted time: 3 %, or
// 30 % if the region takes much of a memory budget. A further chunk adds to the sums over rows,
// reads the weights, and launches the region's kernels once more. 1: no chunks, also where the sums
// over rows take most of the memory that chunks would save.
int64_t RowChunks(const ir::Program& program, const graph::RowRegion& region,
                  const CompileOptions& options);

}  // namespace tartan::compiler
