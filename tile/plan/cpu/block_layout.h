// SPDX-License-Identifier: Apache-2.0
// Layout of a cache block's private arrays (BlockPlan in cpu_plan.h): partial results of its tiles,
// and staged operands in the order in which tiles read them.
#pragma once

#include <cstdint>
#include <vector>

#include "tile/plan/cpu/cpu_kernel.h"
#include "tile/plan/cpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Bytes, maximum of all private arrays of a work-item: they are on a thread's stack.
inline constexpr int64_t kMaxPrivateBytes = 1 << 20;

// Addressing of a private array over the tiles of a block. A tile begins d[i] values into the task
// along output index i; d[i] is a multiple of unroll[i]. The element at position p within the tile
// and K chunk has the offset sum(tile_strides[i] * d[i]) + sum(strides[i] * p[i]).
struct BlockArray {
  std::vector<int64_t> tile_strides;  // elements per value of d, per output index
  std::vector<int64_t> strides;       // elements per value of p, per index
  int64_t size = 0;                   // total elements
};

// Layout of the partial results. The accumulators of a tile are contiguous, and the lanes of a
// vector are innermost.
BlockArray PartialsOf(const poly::FlatContraction& flat, const CpuPlan& plan);

// Elements, maximum stride that a copy reads with vectors: contiguous or every other element.
inline constexpr int64_t kMaxCopiedStep = 2;
// Rows of a tile, maximum that one vector copies. Remaining rows are copied by vectors of half the
// length.
inline constexpr int kMaxNeighbours = 8;

// The output index whose rows a vector of the copy spans: it has several rows in a tile, and the
// access reads them at most kMaxCopiedStep elements apart. -1 if the plan's vectors follow the
// access, if a reduced index is contiguous, or if there is no such index.
int ContiguousRows(const poly::FlatContraction& flat, const CpuPlan& plan, int access);

// Layout of a staged operand for one block and K chunk. Innermost is the vector index if the access
// follows it, else the rows that are contiguous in the tensor, else the reduced indices.
BlockArray StagedOf(const poly::FlatContraction& flat, const CpuPlan& plan, int access);

// Returns whether the block has a staged copy of the operand that `read` accesses.
bool IsStaged(const CpuPlan& plan, const CpuKernel::Access& read);

// Returns whether an access may be staged: the body reads an element at every point, independent of
// constraints; a reduced index moves the access; and the copy is hardly larger than the tensor.
bool CanStage(const poly::FlatContraction& flat, int access);

// Returns whether the reduction may be divided into K chunks.
bool CanSplitIntoChunks(const poly::FlatContraction& flat);

// Bytes of a work-item's private arrays. Requires plan.block.
int64_t PrivateBytes(const poly::FlatContraction& flat, const CpuPlan& plan);

}  // namespace tartan::plan
