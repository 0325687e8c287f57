// SPDX-License-Identifier: Apache-2.0
// A program that the host computes, again and again.
#pragma once

#include "tile/evaluator/repetition.h"

namespace tartan::evaluator {

// As Repeat, of a program whose program().host() is not null.
absl::StatusOr<RepetitionResult> RepeatOnHost(LoadedProgram& program, const RepetitionForm& form,
                                              absl::Span<const HostTensor> operands);

}  // namespace tartan::evaluator
