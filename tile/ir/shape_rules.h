// SPDX-License-Identifier: Apache-2.0
// Shape rules: the result shape of an operation, or why it cannot be applied. The builder computes
// shapes with them, the verifier checks them. All errors are InvalidArgument (ResourceExhausted for
// a result too large to address) and name the shapes or types at fault.
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/ir/program.h"

namespace tartan::ir {

// For every operation but kCast, whose result type does not follow from the operand.
absl::StatusOr<TensorShape> ElementwiseShape(const Program& program,
                                             const Elementwise& elementwise);

// `dims` are the sizes of the output.
absl::StatusOr<TensorShape> ContractionShape(const Program& program, const Contraction& contraction,
                                             absl::Span<const int64_t> dims);

// `dims` are the sizes of the output for kReshape and kPrng; ignored otherwise.
absl::StatusOr<TensorShape> SpecialShape(const Program& program, const Special& special,
                                         absl::Span<const int64_t> dims);

}  // namespace tartan::ir
