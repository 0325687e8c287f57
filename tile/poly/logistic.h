// SPDX-License-Identifier: Apache-2.0
// Recognizes the logistic function in quotients.
#pragma once

#include "tile/poly/flat_contraction.h"

namespace tartan::poly {

// Replaces a / (1 + exp(-x)) in float32 by a * sigmoid(x), which devices compute in fewer steps;
// returns other expressions unchanged. Results agree on infinities and NaN and differ by one
// rounding.
ExprPtr WithLogisticFunction(ExprPtr expr);

}  // namespace tartan::poly
