// SPDX-License-Identifier: Apache-2.0
// Loop fusion of the stages of a CPU's fused row kernel.
#pragma once

#include <vector>

#include "tile/plan/rows/row_plan.h"

namespace tartan::plan {

// Returns whether the stage is one vector loop along one index: its block is one row, its reduction
// has no conditions, and only the vector index is divided.
bool CanFuseAlongRow(const RowStage& stage);

// Assigns each stage to the first possible loop. A stage comes after every loop whose aggregated
// result it reads along the row. It may share the loop of a stage whose result it reads element by
// element at the same position. Fused stages get plans with the loop's step.
std::vector<RowLoop> FuseStages(std::vector<RowStage>* stages);

// Returns the reads of tensors from other kernels along rows of `length`, one per tensor, for
// prefetching. `kernels` are the ones that the stages were made from.
std::vector<RowRead> RowsToPrefetch(const std::vector<RowLoop>& loops, int64_t length,
                                    const std::vector<RowStage>& stages,
                                    const std::vector<poly::RowKernel>& kernels);

// Prefetching for plans without row loops. `stage` reads the most tensors from other kernels, the
// first stage excepted; `reads` has one read per tensor. The first stage of the next block then
// finds its data in the cache.
struct PlanesToPrefetch {
  int stage = -1;
  std::vector<RowRead> reads;
};
PlanesToPrefetch FindPlanesToPrefetch(const std::vector<RowStage>& stages,
                                      const std::vector<poly::RowKernel>& kernels);

}  // namespace tartan::plan
