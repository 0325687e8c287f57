// SPDX-License-Identifier: Apache-2.0
// Binds a syntax tree to input shapes: the result is a program with concrete sizes.
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

// `shapes` are the shapes of function.inputs, in order. Sizes of equal name must agree. Size
// arithmetic is exact int64; division truncates, as in the tutorial's (N + 1) / 2. On failure
// InvalidArgument lists up to ten errors, each with position and caret, without errors that only
// follow from listed ones.
absl::StatusOr<ir::Program> Bind(const Function& function, absl::Span<const TensorShape> shapes,
                                 const BindOptions& options = {});

// Rejects constraints that leave no points of a contraction, for texts that people write.
// (Gradients and imported models may have empty contractions for some sizes.) Returns
// InvalidArgument with the constraint's position in two cases:
// - some indices of a contraction are in range of all tensors, but none satisfies its constraints;
// - the bound of a constraint is negative.
// Empty tensors are not an error, and errors that Bind reports are not reported here.
absl::Status CheckConstraints(const Function& function, absl::Span<const TensorShape> shapes,
                              const BindOptions& options = {});

}  // namespace tartan::lang
