// SPDX-License-Identifier: Apache-2.0
// A product of a few rows with a large constant matrix, of which memory, and the second cache,
// gives one stream more quickly than several.
#pragma once

#include <cstdint>
#include <optional>

#include "tile/plan/cpu/cpu_kernel.h"
#include "tile/plan/kernel_plan.h"

namespace tartan::plan {

// Vectors of accumulators in a tile of products with a large matrix, and rows among them: with
// eight rows a tile's steps wait for each other (0.73 ms instead of 0.55 for 16 rows).
inline constexpr int64_t kMostStreamVectors = 4;
inline constexpr int64_t kStreamTileRows = 4;

// As many, or twice where an addition waits longer for the one before it: four rows of bfloat16
// would take 1.45 times as long.
int64_t StreamVectors(const CpuKernel& kernel);

// The matrix is packed at load, so that a work-item reads one stretch of memory from its begin to
// its end. `matrix` is an access to it, `column` the output index of `rows` that it does not
// follow, along which results are neighbours. Nothing where the matrix cannot be packed so.
std::optional<PlannedKernel> PackedStreamPlan(const CpuKernel& merged, int matrix, int column,
                                              int64_t rows);

}  // namespace tartan::plan
