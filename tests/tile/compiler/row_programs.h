// SPDX-License-Identifier: Apache-2.0
// Programs that are chains of kernels over the same rows, and some that look like it and are not.
#pragma once

#include <vector>

#include "tests/tile/compiler/programs.h"

namespace tartan {

struct RowProgram {
  TestProgram program;
  int launches = 1;  // that it takes with chains wherever they are right and worth it
};

// Softmax over the last of two dimensions, with the maximum and the sum in [rows, 1].
TestProgram SoftmaxOf(int64_t rows, int64_t columns);
// Layer normalisation with scale and shift, the means in [rows].
TestProgram LayerNormalizationOf(int64_t rows, int64_t columns);

// Small enough for an interpreter.
const std::vector<RowProgram>& RowPrograms();

}  // namespace tartan
