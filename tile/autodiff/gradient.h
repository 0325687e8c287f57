// SPDX-License-Identifier: Apache-2.0
// Reverse-mode differentiation of whole programs. The result is an ordinary program, which can be
// compiled, fused and differentiated again. The rules are described in README.md of this folder.
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/autodiff/gradient_options.h"
#include "tile/ir/program.h"

namespace tartan::autodiff {

// `program` with one output appended per entry of `wrt` (positions in program.inputs): the
// derivative of the loss by that input, of the input's shape and type, named after it with "_grad".
// It is 0 where the loss does not depend on the input. InvalidArgument for positions that do not
// exist and inputs that are no floats; Unimplemented for a product, maximum or minimum of several
// tensors with an index that no single condition bounds.
absl::StatusOr<ir::Program> Gradient(const ir::Program& program, absl::Span<const int> wrt,
                                     const GradientOptions& options = {});

}  // namespace tartan::autodiff
