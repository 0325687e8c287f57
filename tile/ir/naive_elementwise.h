// SPDX-License-Identifier: Apache-2.0
// Evaluates elementwise operations by their definitions; part of the naive evaluator.
#pragma once

#include "absl/types/span.h"
#include "tile/ir/naive_tensor.h"
#include "tile/ir/program.h"

namespace tartan::ir {

// The value of a constant, broadcast to the shape.
NaiveTensor EvaluateConstant(const Constant& constant, const TensorShape& shape);

// `values` are the program's values before `value`, an elementwise operation.
NaiveTensor EvaluateElementwise(const Program& program, ValueId value,
                                absl::Span<const NaiveTensor> values);

}  // namespace tartan::ir
