// SPDX-License-Identifier: Apache-2.0
// Evaluates one contraction by its definition; part of the naive evaluator.
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/ir/naive_tensor.h"
#include "tile/ir/program.h"

namespace tartan::ir {

// `values` are the program's values computed so far. Float sums and multiplications accumulate in
// double and are rounded once to the result's type. Each visited index point is subtracted from
// `*points`; ResourceExhausted, with `*points` 0, if they do not suffice.
absl::StatusOr<NaiveTensor> EvaluateContraction(const Program& program,
                                                const Contraction& contraction,
                                                const TensorShape& shape,
                                                absl::Span<const NaiveTensor> values,
                                                int64_t* points);

}  // namespace tartan::ir
