// SPDX-License-Identifier: Apache-2.0
// Sums of tensors that lie beside each other in a greater one: gradients of slices. Each becomes a
// piece of a concatenation, which is written, not added up.
#pragma once

#include "absl/status/statusor.h"
#include "tile/ir/program.h"

namespace tartan::graph {

// Sums of at least three placements that do not overlap become contractions that write their piece
// and keep, by their default, what was written before:
//   A[i : 8] = +(X[i]);  B[i + 2 : 8] = +(Y[i]);  C[i + 4 : 8] = +(Z[i]);  S = A + B + C
// becomes
//   A[i : 8] = =(X[i]);  B[i + 2 : 8] = =(Y[i]) default A;  S[i + 4 : 8] = =(Z[i]) default B
absl::StatusOr<ir::Program> JoinPlacements(const ir::Program& program);

}  // namespace tartan::graph
