// SPDX-License-Identifier: Apache-2.0
// Two-level summation for accuracy. The rounding error of a sum grows with the number of terms that
// one accumulator takes. A long sum is split into chunks with accumulators of their own; the tile's
// accumulators then take one value per chunk. For n terms of random sign, the error is about
// sqrt(n / 2) units in the last place; chunks of r terms reduce it to sqrt(r / 2 + n / 2r).
#pragma once

#include <cstdint>

#include "tile/plan/cpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

struct SumChunks {
  int level = -1;     // position in the plan's order of reduced indices; -1: the sum is not divided
  int64_t steps = 0;  // iterations of that level's loop per chunk
  // There are two chunks, and the first one accumulates directly into the tile's accumulators.
  bool are_two = false;
  int64_t fine_steps = 0;  // iterations per sub-chunk of a chunk; 0: chunks are not divided
};

// Divides float32 sums of 64 or more terms per accumulator: into two chunks below 128 terms, chunks
// of at most 64 terms below 512, and chunks of at most 128 terms above. A chunk costs a load, an
// addition and a store per accumulator: 1 to 3 % of its time. A tile with few accumulators keeps
// the chunk accumulators in registers, and uses chunks of 16 from 32 terms on, also within longer
// chunks.
SumChunks ChunkSum(const poly::FlatContraction& flat, const plan::CpuPlan& plan);

// The same for kernels whose sizes are arguments. Every sum is chunked along the innermost loop;
// the chunk length is near the square root of the term count, from 16 to 128. Windows of fewer than
// 32 terms are not chunked, because no size changes them. If weights have a scale per block, each
// block is a chunk.
SumChunks ChunkSumOfAnySize(const poly::FlatContraction& flat, const plan::CpuPlan& plan);

}  // namespace tartan::lower
