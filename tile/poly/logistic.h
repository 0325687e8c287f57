// SPDX-License-Identifier: Apache-2.0
// The logistic function found in quotients.
#pragma once

#include "tile/poly/flat_contraction.h"

namespace tartan::poly {

// a / (1 + exp(-x)) of float32 as a * sigmoid(x), which devices compute in fewer steps; other
// expressions as they are. The two agree on infinities and NaN and differ by one rounding.
ExprPtr WithLogisticFunction(ExprPtr expr);

}  // namespace tartan::poly
