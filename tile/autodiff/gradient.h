// SPDX-License-Identifier: Apache-2.0
// Reverse-mode differentiation of programs. The result is an ordinary program, which can be
// compiled, fused and differentiated again. README.md explains the rules.
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/autodiff/gradient_options.h"
#include "tile/ir/program.h"

namespace tartan::autodiff {

// Returns `program` with one more output per entry of `wrt` (positions in program.inputs): the
// derivative of the loss with respect to that input.
// It has the input's shape and type and its name with "_grad", and is 0 if the loss does not depend
// on the input.
//
// Errors: InvalidArgument for positions out of range and inputs that are no floats. Unimplemented
// for a `kProduct`, `kMax` or `kMin` aggregation of several tensors with an index that no single
// condition bounds.
absl::StatusOr<ir::Program> Gradient(const ir::Program& program, absl::Span<const int> wrt,
                                     const GradientOptions& options = {});

}  // namespace tartan::autodiff
