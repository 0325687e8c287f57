// SPDX-License-Identifier: Apache-2.0
// Helpers for typed expressions: rounding to stored types, wrapping of indices.
#pragma once

#include <cstdint>

#include "tile/base/shape.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::poly {

// Rounds a value of the computation type of `type` to the precision of `type`.
ExprPtr RoundTo(const ExprPtr& expr, DataType type);
// Removes a rounding that storing as `type` repeats.
ExprPtr WithoutRounding(const ExprPtr& expr, DataType type);
ExprPtr Zero(DataType type);

// Returns the type that holds the coordinates of a tensor.
DataType CoordinateType(const TensorShape& shape);
// Wraps an index: negative values count from the end, and values still out of range are clamped.
// Computed in a type that holds index and size, then converted to `type`.
ExprPtr WrapIndex(const ExprPtr& index, int64_t size, DataType type);

}  // namespace tartan::poly
