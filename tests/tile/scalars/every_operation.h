// SPDX-License-Identifier: Apache-2.0
// Kernels with every scalar operation of a type.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "tile/base/scalar_op.h"
#include "tile/loop/loop_ir.h"

namespace tartan {

// All but the identity and conversions.
std::vector<ScalarOp> DefinedOps(DataType type);

// For work-item i and each of the operations, at its position p: values[p * count + i * lanes …] =
// op(a[i * lanes …], b[…]); results that are bool go to `truths`, where lanes is 1. A number given
// as `second` stands for b.
loop::Kernel MakeOpsKernel(DataType type, int lanes, int64_t count, absl::Span<const ScalarOp> ops,
                           const loop::ExprPtr& second = nullptr);

}  // namespace tartan
