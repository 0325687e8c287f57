// SPDX-License-Identifier: Apache-2.0
// Fuses matmuls of one tensor with several constant matrices into one, such as queries, keys and
// values of attention.
#pragma once

#include "tile/ir/program.h"

namespace tartan::graph {

// Concatenates the matrices of matmuls that differ only in the matrix, at load. Equal elementwise
// operations with constants per column, such as a bias, are fused, too, and readers use their
// columns of the result.
// Matmuls stay separate if their kernels would have different epilogues, or if a matrix is computed
// or has other readers.
ir::Program FuseParallelMatmuls(const ir::Program& program);

}  // namespace tartan::graph
