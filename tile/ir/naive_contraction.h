// SPDX-License-Identifier: Apache-2.0
// One contraction by its definition; part of the naive evaluator.
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/ir/naive_tensor.h"
#include "tile/ir/program.h"

namespace tartan::ir {

// `values` are those of the program so far. Sums and products of floats are accumulated in double
// and rounded to the result's type once. At most `*points` index points are visited, and taken off
// it; ResourceExhausted, and 0 there, where they do not suffice.
absl::StatusOr<NaiveTensor> EvaluateContraction(const Program& program,
                                                const Contraction& contraction,
                                                const TensorShape& shape,
                                                absl::Span<const NaiveTensor> values,
                                                int64_t* points);

}  // namespace tartan::ir
