// SPDX-License-Identifier: Apache-2.0
// Which stages of a chain walk their row together.
#pragma once

#include <vector>

#include "tile/plan/rows/row_plan.h"

namespace tartan::plan {

// The stage is one loop of vectors along one index: its block is one row, it has no conditions that
// its reduction must check, and nothing but the vector index is divided.
bool CanWalk(const RowStage& stage);

// Divides the stages into loops, each stage into the first that can have it: behind every loop that
// aggregates what it reads along the row, and not before one that computes, element by element,
// what it reads at the same place. Stages that share a loop get plans with its step.
std::vector<RowLoop> JoinStages(std::vector<RowStage>* stages);

// The reads of what other kernels left in memory along rows of that length, one of each tensor.
// `kernels` are those that the stages were made from.
std::vector<RowRead> ReadsAhead(const std::vector<RowLoop>& loops, int64_t length,
                                const std::vector<RowStage>& stages,
                                const std::vector<poly::RowKernel>& kernels);

// Where no stage walks a row: the stage behind the first that reads most of what other kernels left
// in memory, and one read of each such tensor. What the first one waits for is there then.
struct PlanesAhead {
  int stage = -1;
  std::vector<RowRead> reads;
};
PlanesAhead FindPlanesAhead(const std::vector<RowStage>& stages,
                            const std::vector<poly::RowKernel>& kernels);

}  // namespace tartan::plan
