// SPDX-License-Identifier: Apache-2.0
// Elementwise operations computed by the host, with the naive evaluator's numbers and a few
// nanoseconds for each element.
#pragma once

#include "absl/types/span.h"
#include "tile/ir/naive_tensor.h"
#include "tile/ir/program.h"

namespace tartan::evaluator {

// `operands` are the values of those of the elementwise operation `id`.
ir::NaiveTensor EvaluateOnHost(const ir::Program& program, ir::ValueId id,
                               absl::Span<const ir::NaiveTensor* const> operands);

double ElementwiseNanoseconds(const ir::Program& program, ir::ValueId id);

}  // namespace tartan::evaluator
