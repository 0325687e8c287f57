// SPDX-License-Identifier: Apache-2.0
// Loops with carried state: executes a program repeatedly on a device, feeding states back as
// inputs.
#pragma once

#include <memory>
#include <vector>

#include "tile/evaluator/loaded_program.h"
#include "tile/evaluator/repetition_form.h"

namespace tartan::evaluator {

struct RepetitionResult {
  std::vector<HostTensor> tensors;  // final states, then the complete tensors of slices_out
  bool condition = false;           // the last value of the condition, if there is one
};

// `operands`: states, complete tensors for slices_in, invariants. Between iterations only the
// condition leaves the device. With zero iterations the states are returned unchanged.
// ResourceExhausted if the rows of an unbounded repetition do not fit.
absl::StatusOr<RepetitionResult> Repeat(LoadedProgram& program, const RepetitionForm& form,
                                        absl::Span<const HostTensor> operands);

}  // namespace tartan::evaluator
