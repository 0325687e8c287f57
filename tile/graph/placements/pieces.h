// SPDX-License-Identifier: Apache-2.0
// Concatenations whose pieces are written into the same memory, each by a kernel of its own or by
// the kernel that computes it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tile/ir/program.h"
#include "tile/poly/build_kernel.h"

namespace tartan::graph {

// Where a placement's elements are: [begin, end) of each dimension.
using Box = std::vector<std::pair<int64_t, int64_t>>;

// Of a contraction that puts a tensor, as it is, into its result; nothing for others.
std::optional<Box> BoxOf(const ir::Program& program, const ir::Value& value);
// Of a contraction that keeps what its default has where it writes nothing.
bool HasPieceBefore(const ir::Value& value);
bool DoNotOverlap(const std::vector<Box>& boxes);

// The pieces of a concatenation, first to last: contractions of which each writes a box and keeps
// what the one before wrote, which nothing else reads.
struct Pieces {
  std::vector<ir::ValueId> values;
  bool cover_all = false;  // of the result
};
// Concatenations that are written part by part into the same memory: of many parts, and of such
// that kernels of sums can mostly write where they lie. The others are one kernel, which chooses
// for each element. `spaces` as analysed, or as NarrowPieces left them.
std::vector<Pieces> FindPieces(const ir::Program& program, const poly::ProgramSpaces& spaces);

// Gives the pieces that depend on values of a run index spaces of what they write alone: they do
// not cover their outputs.
void NarrowPieces(const ir::Program& program, const std::vector<bool>& is_constant,
                  poly::ProgramSpaces* spaces);

// What grouping knows of pieces.
struct PieceStorage {
  std::vector<ir::ValueId> whole;  // per piece of a concatenation its last one, else kNoValue
  // Values whose kernel writes a part of their elements, and nothing is to be put into the others
  // before.
  std::set<ir::ValueId> written_in_parts;
  // Pieces of wholes of which that holds for each: it does not matter which is written first.
  std::vector<bool> is_free;
};
PieceStorage FindPieceStorage(const ir::Program& program, const poly::ProgramSpaces& spaces);

// A kernel whose only result is read by a piece of a concatenation alone writes the piece.
// `region`: of each value the root whose kernel computes it; `leaves`: it is a result of that
// kernel.
void JoinPieces(const ir::Program& program, const PieceStorage& pieces,
                const std::vector<bool>& leaves, const std::vector<bool>& is_constant,
                std::vector<ir::ValueId>* region);

}  // namespace tartan::graph
