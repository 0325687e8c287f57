// SPDX-License-Identifier: Apache-2.0
// Builds kernels that apply every scalar operation of a type.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "tile/base/scalar_op.h"
#include "tile/loop/loop_ir.h"

namespace tartan {

// Returns all operations of a type, except the identity and conversions.
std::vector<ScalarOp> DefinedOps(DataType type);

// Returns a kernel that applies each operation, at position p of `ops`, in each work-item i:
// values[p * count + i * lanes …] = op(a[i * lanes …], b[…]). Bool results are stored in `truths`,
// with one lane. If given, the constant `second` replaces b.
loop::Kernel MakeOpsKernel(DataType type, int lanes, int64_t count, absl::Span<const ScalarOp> ops,
                           const loop::ExprPtr& second = nullptr);

}  // namespace tartan
