// SPDX-License-Identifier: Apache-2.0
// Gradients of multiplying aggregations (`kProduct`) and of `cumprod`.
// They only multiply, without division or tests for 0. So they are polynomials of the factors, and
// derivatives of every order are correct at zeros.
#pragma once

#include "tile/autodiff/emitter.h"

namespace tartan::autodiff {

// Gradient of y[i] = Π_j factors[i, j] with respect to the factors. `gradient`: gradient of y.
ValueId RowMultiplicationGradient(Emitter& emit, ValueId factors, ValueId gradient);

// Gradient of y = cumprod(x) with respect to x. `params`: parameters of SpecialKind::kCumProd.
ValueId RunningProductGradient(Emitter& emit, ValueId x, absl::Span<const int64_t> params,
                               ValueId gradient);

// Multiplies, for each k, all factors[j] with j != k and keys[j] == keys[k]. Both are vectors.
ValueId ProductsOfOthers(Emitter& emit, ValueId factors, ValueId keys);

}  // namespace tartan::autodiff
