// SPDX-License-Identifier: Apache-2.0
// Which shape an operation gives for operands of a program, or why it cannot be applied: used by
// the builder to compute shapes and by the verifier to check them. All errors are InvalidArgument
// (ResourceExhausted for a result too large to address) and name the shapes or types at fault.
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/ir/program.h"

namespace tartan::ir {

// For every operation but kCast, whose result type is no function of the operand.
absl::StatusOr<TensorShape> ElementwiseShape(const Program& program,
                                             const Elementwise& elementwise);

// `dims` are the sizes of the output.
absl::StatusOr<TensorShape> ContractionShape(const Program& program, const Contraction& contraction,
                                             absl::Span<const int64_t> dims);

// `dims` are the sizes of the output for kReshape and kPrng, and ignored for the others.
absl::StatusOr<TensorShape> SpecialShape(const Program& program, const Special& special,
                                         absl::Span<const int64_t> dims);

}  // namespace tartan::ir
