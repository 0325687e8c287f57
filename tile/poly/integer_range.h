// SPDX-License-Identifier: Apache-2.0
// Interval analysis of integer expressions, from types and arithmetic.
#pragma once

#include <optional>

#include "tile/math/integer_system.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::poly {

// Returns the interval of an expression of the kernel; nothing if it is no integer or the interval
// is no smaller than int32.
std::optional<math::Interval> IntegerRange(const FlatContraction& flat, const ExprPtr& expr);

}  // namespace tartan::poly
