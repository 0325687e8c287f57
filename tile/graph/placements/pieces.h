// SPDX-License-Identifier: Apache-2.0
// Analysis for in-place concatenation: separate kernels, or the kernels that compute the pieces,
// write all pieces into the same memory.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tile/graph/value_kind.h"
#include "tile/ir/kernel_group.h"
#include "tile/ir/program.h"
#include "tile/poly/build_kernel.h"

namespace tartan::graph {

// Position of a piece in the result: [begin, end) of each dimension.
using Box = std::vector<std::pair<int64_t, int64_t>>;

// Returns the box of a contraction that copies a tensor unchanged into its result; nothing for
// others.
std::optional<Box> BoxOf(const ir::Program& program, const ir::Value& value);
// Returns true for a contraction that keeps the elements of its default value where it does not
// write.
bool HasPieceBefore(const ir::Value& value);
bool DoNotOverlap(const std::vector<Box>& boxes);

// The pieces of a concatenation, first to last. Each contraction writes a box and keeps the
// elements of the previous piece, which has no other reader.
struct Pieces {
  std::vector<ir::ValueId> values;
  bool cover_all = false;  // the pieces cover the whole result
};
// Finds concatenations to write in place: those with many pieces, and those whose pieces are mostly
// results of reductions, which can store directly. The others stay one kernel with a selection per
// element. `spaces`: as analyzed, or as NarrowPieces left them.
std::vector<Pieces> FindPieces(const ir::Program& program, const poly::ProgramSpaces& spaces);

// Sets the index space of run-time pieces to the elements that they write, so that they no longer
// cover their outputs.
void NarrowPieces(const ir::Program& program, const std::vector<bool>& is_constant,
                  poly::ProgramSpaces* spaces);

// Storage of pieces, for grouping.
struct PieceStorage {
  // Per piece, the last piece, which owns the memory; else kNoValue.
  std::vector<ir::ValueId> whole;
  // Values whose kernel writes only some elements and needs no earlier contents in the others.
  std::set<ir::ValueId> written_by_parts;
  // Pieces of concatenations that are covered completely, so that the order of writing is free.
  std::vector<bool> is_free;
};
PieceStorage FindPieceStorage(const ir::Program& program, const poly::ProgramSpaces& spaces);

// Fuses a piece into the kernel of its input, if the input is the kernel's only result and the
// piece its only reader. `region`: per value, the root whose kernel computes it. `leaves`: per
// value, whether it is a result of that kernel.
void FusePieces(const ir::Program& program, const PieceStorage& pieces,
                const std::vector<bool>& leaves, const std::vector<bool>& is_constant,
                std::vector<ir::ValueId>* region);

// Sets the storage of all values from `grouping->in_memory`. `region`: per value, the reduction
// whose kernel computes it as an epilogue, or kNoValue.
void FindStorage(const ir::Program& program, const std::vector<Kind>& kinds,
                 const std::vector<ir::ValueId>& region, const PieceStorage& pieces,
                 ir::Grouping* grouping);

}  // namespace tartan::graph
