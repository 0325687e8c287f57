// SPDX-License-Identifier: Apache-2.0
// Reverse-mode differentiation of whole programs. The result is an ordinary program, which can be
// compiled, fused and differentiated again. The rules are described in README.md of this folder.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/ir/program.h"

namespace tartan::autodiff {

// What becomes of the gradient of a maximum or minimum that several values attain.
enum class Ties {
  kShare,  // equal parts for all of them
  kFirst,  // all for the first: the left operand, or the first element in row-major order
};

struct GradientOptions {
  Ties ties = Ties::kShare;
  // False: the loss is the sum of all elements of the outputs. True: the program gets one more
  // input for every output of a float type that takes part, of the output's shape and named after
  // it with "_seed"; the loss is the sum of outputs times seeds.
  bool seeded = false;
  // Positions in program.outputs of those that take part; empty: all. Outputs that are no floats
  // never do.
  std::vector<int> outputs;
  // Values through which no gradient passes.
  std::vector<ir::ValueId> stops;
};

// `program` with one output appended per entry of `wrt` (positions in program.inputs): the
// derivative of the loss by that input, of the input's shape and type, named after it with "_grad".
// It is 0 where the loss does not depend on the input. InvalidArgument for positions that do not
// exist and inputs that are no floats; Unimplemented for a product, maximum or minimum of several
// tensors with an index that no single condition bounds.
absl::StatusOr<ir::Program> Gradient(const ir::Program& program, absl::Span<const int> wrt,
                                     const GradientOptions& options = {});

}  // namespace tartan::autodiff
