// SPDX-License-Identifier: Apache-2.0
// Describes how a loop body's outputs become the inputs of its next iteration.
#pragma once

#include <cstdint>

namespace tartan::evaluator {

// Order of the body's inputs: the iteration number (scalar int64, if has_iteration), states,
// slices, invariants. Order of its outputs: the condition for another iteration (scalar bool, if
// has_condition), states, slices, and all inputs but slices again. The latter keeps the memory of
// inputs from being reused during an iteration.
struct RepetitionForm {
  bool has_iteration = false;
  bool has_condition = false;
  int states = 0;
  int slices_in = 0;   // each iteration reads the next row of a tensor along its first dimension
  int slices_out = 0;  // each iteration writes the next row of a tensor
  int64_t iterations = 0;  // maximum

  bool operator==(const RepetitionForm&) const = default;
};

}  // namespace tartan::evaluator
