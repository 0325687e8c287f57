// SPDX-License-Identifier: Apache-2.0
// Where values of a block (kernel_plan.h) lie in a work-item's private memory: partial results of
// its tiles, and copies of operands in the order in which tiles read them.
#pragma once

#include <cstdint>
#include <vector>

#include "tile/plan/cpu/cpu_kernel.h"
#include "tile/plan/cpu/cpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Private arrays of a work-item together take no more: they lie on a thread's stack.
inline constexpr int64_t kMostPrivateBytes = 1 << 20;

// An array over the tiles of a block. The element at a tile that begins `d[i]` values into the
// task along output index i, at position p within the tile and run, is
// sum(tile_strides[i] * d[i]) + sum(strides[i] * p[i]); d[i] is a multiple of unroll[i].
struct BlockArray {
  std::vector<int64_t> tile_strides;  // per output index
  std::vector<int64_t> strides;       // per index
  int64_t size = 0;                   // elements
};

// Partial results: a tile's accumulators are neighbours, those of a vector above all.
BlockArray PartialsOf(const poly::FlatContraction& flat, const CpuPlan& plan);

// Vectors are copied from elements so far apart at most: neighbours, or every other one.
inline constexpr int64_t kMostCopiedStep = 2;
// And rows of a tile that one vector copies; what is left of them is copied by vectors half as
// long.
inline constexpr int kMostNeighbours = 8;

// The output index, with several rows in a tile, along which the elements that an access reads are
// at most kMostCopiedStep apart, where vectors do not follow the access and no reduced index has
// its neighbours; -1: none.
int NeighbourRows(const poly::FlatContraction& flat, const CpuPlan& plan, int access);

// The elements that an access reads for a block and run. The vector index, where the access follows
// it, is the innermost; else rows that are neighbours in the tensor are, else the reduced indices.
BlockArray StagedOf(const poly::FlatContraction& flat, const CpuPlan& plan, int access);

// The block has a copy of what the access reads.
bool IsStaged(const CpuPlan& plan, const CpuKernel::Access& read);

// The body reads a tensor's element for each value of its indices, whatever the constraints say,
// one of them is reduced, and the copy would hold hardly more elements than the tensor.
bool CanStage(const poly::FlatContraction& flat, int access);

// The reduction may stop between values of a reduced index and go on later.
bool CanWalkInRuns(const poly::FlatContraction& flat);

// Bytes of a work-item's private arrays. Requires: a plan with a block.
int64_t PrivateBytes(const poly::FlatContraction& flat, const CpuPlan& plan);

}  // namespace tartan::plan
