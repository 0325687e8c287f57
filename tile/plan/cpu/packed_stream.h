// SPDX-License-Identifier: Apache-2.0
// CPU plans for a GEMM of few rows by a large constant matrix, packed so that each task reads one
// contiguous stream.
#pragma once

#include <cstdint>
#include <optional>

#include "tile/plan/cpu/cpu_kernel.h"
#include "tile/plan/kernel_plan.h"

namespace tartan::plan {

inline constexpr int64_t kMaxStreamVectors = 4;  // vectors of accumulators per tile, maximum
// Rows per tile, maximum; 16 rows take 0.73 ms in tiles of eight, 0.55 in tiles of four.
inline constexpr int64_t kStreamTileRows = 4;

// Vectors of accumulators of a tile: kMaxStreamVectors, or twice that if a dependent addition has
// a longer latency. With bfloat16, four rows would otherwise take 1.45 times as long.
int64_t StreamVectors(const CpuKernel& kernel);

// Plans a kernel whose matrix is packed at load. `matrix` is an access to it; `column` is the
// output index along which results are contiguous, which the other factor does not follow; `rows`
// is the number of rows. Empty if the matrix cannot be packed.
std::optional<PlannedKernel> PackedStreamPlan(const CpuKernel& merged, int matrix, int column,
                                              int64_t rows);

}  // namespace tartan::plan
