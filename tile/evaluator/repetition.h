// SPDX-License-Identifier: Apache-2.0
// A program run again and again on a device: what one iteration makes is what the next one reads.
#pragma once

#include <memory>
#include <vector>

#include "tile/evaluator/loaded_program.h"

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

struct RepetitionResult {
  std::vector<HostTensor>
      tensors;             // the states after the last iteration, the whole tensors of slices_out
  bool condition = false;  // the condition after the last iteration, where there is one
};

// `operands`: states, whole tensors for slices_in, what stays the same. Nothing leaves the device
// between iterations but the condition. With no iteration the states are returned as they are.
// ResourceExhausted where the rows of an unbounded repetition do not fit.
absl::StatusOr<RepetitionResult> Repeat(LoadedProgram& program, const RepetitionForm& form,
                                        absl::Span<const HostTensor> operands);

}  // namespace tartan::evaluator
