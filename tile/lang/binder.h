// SPDX-License-Identifier: Apache-2.0
// Syntax tree plus input shapes to a program with concrete sizes.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/base/shape.h"
#include "tile/ir/program.h"
#include "tile/lang/ast.h"

namespace tartan::lang {

struct BindOptions {
  std::string file = "tile";      // for messages
  std::string text;               // source text for carets; empty: messages without a caret
  std::vector<ir::Input> inputs;  // flags per input; empty: none
};

// `shapes` are those of function.inputs, in order. Sizes of equal name must agree; size arithmetic
// is exact int64 with C division (an error on inexact sizes never happens silently: division
// truncates as in the tutorial's (N + 1) / 2). InvalidArgument that lists up to ten errors, each
// with position and caret; what only follows from one that is listed is not.
absl::StatusOr<ir::Program> Bind(const Function& function, absl::Span<const TensorShape> shapes,
                                 const BindOptions& options = {});

// Refuses constraints that leave nothing of a contraction, for texts that people write. Gradients
// and imported models have contractions that may well be empty for some sizes. InvalidArgument,
// with the place of the constraint, where some indices of a contraction are in the range of all
// tensors but none satisfies its constraints, and where the bound of a constraint is negative.
// Empty tensors are no error, and what Bind refuses anyway is none here.
absl::Status CheckConstraints(const Function& function, absl::Span<const TensorShape> shapes,
                              const BindOptions& options = {});

}  // namespace tartan::lang
