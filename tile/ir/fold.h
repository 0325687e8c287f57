// SPDX-License-Identifier: Apache-2.0
// Constant folding of elementwise operations.
#pragma once

#include "absl/types/span.h"
#include "tile/ir/program.h"

namespace tartan::ir {

struct Literal {
  DataType type = DataType::kInvalid;
  Constant constant;  // int64 for integers and bool, double for floats
};

// The nearest value in `type`; the result is not weak.
Literal ConvertLiteral(const Literal& literal, DataType type);

// Requires operands that ElementwiseShape accepts, and an operation other than kCast. The result is
// weak if all operands are, unless it is bool; weak constants are computed with 64 bits.
Literal FoldLiterals(ScalarOp op, absl::Span<const Literal> operands);

}  // namespace tartan::ir
