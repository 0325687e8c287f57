// SPDX-License-Identifier: Apache-2.0
// Test programs for row fusion, including some that resemble fusible rows but are not.
#pragma once

#include <vector>

#include "tests/tile/compiler/programs.h"

namespace tartan {

struct RowProgram {
  TestProgram program;
  int launches = 1;  // expected launches with row fusion
};

// Softmax over the last of two dimensions, with maximum and sum of shape [rows, 1].
TestProgram SoftmaxOf(int64_t rows, int64_t columns);
// Layer normalization with scale and shift, with means of shape [rows].
TestProgram LayerNormalizationOf(int64_t rows, int64_t columns);

// Programs small enough for the loop interpreter.
const std::vector<RowProgram>& RowPrograms();

}  // namespace tartan
