// SPDX-License-Identifier: Apache-2.0
// Between which integers an expression's values lie, as far as types and arithmetic tell.
#pragma once

#include <optional>

#include "tile/math/integer_system.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::poly {

// Empty where nothing narrower than int32 is known, or the expression is no integer. `expr` is one
// of the kernel's.
std::optional<math::Interval> IntegerRange(const FlatContraction& flat, const ExprPtr& expr);

}  // namespace tartan::poly
