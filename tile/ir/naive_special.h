// SPDX-License-Identifier: Apache-2.0
// Evaluates special operations by their definitions; part of the naive evaluator.
#pragma once

#include "absl/types/span.h"
#include "tile/ir/naive_tensor.h"
#include "tile/ir/program.h"

namespace tartan::ir {

using NaiveOperands = absl::Span<const NaiveTensor* const>;

// `shape` is the result's shape. Requires operands and params that SpecialShape accepts.
NaiveTensor EvaluateSpecial(const Special& special, const TensorShape& shape,
                            NaiveOperands operands);

// Parts of EvaluateSpecial, in naive_gather.cc.
NaiveTensor EvaluateGather(const Special& special, const TensorShape& shape,
                           NaiveOperands operands);
NaiveTensor EvaluateScatter(const Special& special, const TensorShape& shape,
                            NaiveOperands operands);

}  // namespace tartan::ir
