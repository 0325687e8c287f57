// SPDX-License-Identifier: Apache-2.0
// Elementwise operations by their definitions; part of the naive evaluator.
#pragma once

#include "absl/types/span.h"
#include "tile/ir/naive_tensor.h"
#include "tile/ir/program.h"

namespace tartan::ir {

// A constant's value.
NaiveTensor EvaluateConstant(const Constant& constant, const TensorShape& shape);

// `values` are those of the program up to `value`, an elementwise operation.
NaiveTensor EvaluateElementwise(const Program& program, ValueId value,
                                absl::Span<const NaiveTensor> values);

}  // namespace tartan::ir
