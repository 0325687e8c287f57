// SPDX-License-Identifier: Apache-2.0
// Turns sums of disjoint placements, such as gradients of slices, into in-place concatenations.
// Each placement is then written, not added.
#pragma once

#include "tile/ir/program.h"

namespace tartan::graph {

// Replaces sums of three or more placements that do not overlap by contractions that write their
// piece and keep the earlier pieces as their default:
//   A[i : 8] = +(X[i]);  B[i + 2 : 8] = +(Y[i]);  C[i + 4 : 8] = +(Z[i]);  S = A + B + C
// becomes
//   A[i : 8] = =(X[i]);  B[i + 2 : 8] = =(Y[i]) default A;  S[i + 4 : 8] = =(Z[i]) default B
ir::Program SumsToConcatenations(const ir::Program& program);

}  // namespace tartan::graph
