// SPDX-License-Identifier: Apache-2.0
// What a program that is run again and again takes from its last run.
#pragma once

#include <cstdint>

namespace tartan::evaluator {

// How inputs and outputs of a program belong together. Inputs in order: the number of the iteration
// (int64, a scalar) if it is wanted, states, slices, what stays the same. Outputs in order: whether
// another iteration follows (bool, a scalar) if that is decided by values, states, slices; then the
// inputs but slices again, so that their memory serves for nothing else during an iteration.
struct RepetitionForm {
  bool has_iteration = false;
  bool has_condition = false;
  int states = 0;
  int slices_in = 0;   // each iteration reads the next row of a tensor, along its first dimension
  int slices_out = 0;  // each iteration makes the next row of a tensor
  int64_t iterations = 0;  // at most

  bool operator==(const RepetitionForm&) const = default;
};

}  // namespace tartan::evaluator
