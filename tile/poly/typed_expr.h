// SPDX-License-Identifier: Apache-2.0
// Expressions of kernels in the right types: values rounded, indices wrapped.
#pragma once

#include <cstdint>

#include "tile/base/shape.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::poly {

// A value of the computation type of `type`, rounded to the numbers that `type` has.
ExprPtr RoundTo(const ExprPtr& expr, DataType type);
// The same value once it is stored as `type`, which rounds anyway.
ExprPtr WithoutRounding(const ExprPtr& expr, DataType type);
ExprPtr Zero(DataType type);

// That holds the coordinates of a tensor.
DataType CoordinateType(const TensorShape& shape);
// A negative index counts from the end; what is still outside is clamped. Both in a type that
// holds the index and the size, before the result is `type`.
ExprPtr WrapIndex(const ExprPtr& index, int64_t size, DataType type);

}  // namespace tartan::poly
