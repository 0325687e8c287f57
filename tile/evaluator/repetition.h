// SPDX-License-Identifier: Apache-2.0
// A program run again and again on a device: what one iteration makes is what the next one reads.
#pragma once

#include <memory>
#include <vector>

#include "tile/evaluator/loaded_program.h"
#include "tile/evaluator/repetition_form.h"

namespace tartan::evaluator {

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
