// SPDX-License-Identifier: Apache-2.0
// Hoists factors that are constant within a summation chunk, such as the scales of quantized
// weights.
#pragma once

#include <optional>

#include "tile/plan/cpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

struct ChunkFactor {
  poly::ExprPtr rest;    // the part of the body that is summed within a chunk
  poly::ExprPtr factor;  // multiplies the chunk's sum
  bool varies_by_chunk =
      false;  // the factor changes from chunk to chunk: the scale of a weight block
};

// Returns the factor if each step of the outermost loop over a reduced index can be a chunk with
// one.
std::optional<ChunkFactor> SplitChunkFactor(const poly::FlatContraction& flat,
                                            const plan::CpuPlan& plan);

}  // namespace tartan::lower
