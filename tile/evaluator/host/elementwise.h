// SPDX-License-Identifier: Apache-2.0
// Computes elementwise operations on the host. It gives the naive evaluator's results and takes a
// few ns per element.
#pragma once

#include "absl/types/span.h"
#include "tile/ir/naive_tensor.h"
#include "tile/ir/program.h"

namespace tartan::evaluator {

// `operands` are the values of the operands of the elementwise operation `id`.
ir::NaiveTensor EvaluateOnHost(const ir::Program& program, ir::ValueId id,
                               absl::Span<const ir::NaiveTensor* const> operands);

double ElementwiseNanoseconds(const ir::Program& program, ir::ValueId id);

}  // namespace tartan::evaluator
