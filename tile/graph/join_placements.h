// SPDX-License-Identifier: Apache-2.0
// Sums of tensors that lie beside each other in a greater one: gradients of slices. Each becomes a
// piece of a concatenation, which is written, not added up.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "tile/ir/program.h"
#include "tile/poly/build_kernel.h"

namespace tartan::graph {

// Sums of at least three placements that do not overlap become contractions that write their piece
// and keep, by their default, what was written before:
//   A[i : 8] = +(X[i]);  B[i + 2 : 8] = +(Y[i]);  C[i + 4 : 8] = +(Z[i]);  S = A + B + C
// becomes
//   A[i : 8] = =(X[i]);  B[i + 2 : 8] = =(Y[i]) default A;  S[i + 4 : 8] = =(Z[i]) default B
absl::StatusOr<ir::Program> JoinPlacements(const ir::Program& program);

// The pieces of a concatenation, first to last: contractions of which each writes a box and keeps
// what the one before wrote, which nothing else reads.
struct Pieces {
  std::vector<ir::ValueId> values;
  bool cover_all = false;  // of the result
};
// Concatenations of many parts, which are written part by part into the same memory; those of few
// are one kernel, which chooses for each element.
std::vector<Pieces> FindPieces(const ir::Program& program);

// Gives the pieces that depend on values of a run index spaces of what they write alone: they do
// not cover their outputs.
void NarrowPieces(const ir::Program& program, const std::vector<bool>& is_constant,
                  poly::ProgramSpaces* spaces);

}  // namespace tartan::graph
