// SPDX-License-Identifier: Apache-2.0
// Derivatives of products of many factors. They are put together by multiplications of tensors
// alone, without a division and without asking what is 0: so they are polynomials of the factors,
// as they should be, and their own derivatives of every order are right where factors are 0.
#pragma once

#include "tile/autodiff/emitter.h"

namespace tartan::autodiff {

// y[i] = product over j of factors[i, j]: the derivative by the factors, given the one by y.
ValueId RowProductsGradient(Emitter& emit, ValueId factors, ValueId gradient);

// y = cumprod(x) with the parameters of SpecialKind::kCumProd: the derivative by x.
ValueId RunningProductGradient(Emitter& emit, ValueId x, absl::Span<const int64_t> params,
                               ValueId gradient);

// Element k is the product of all factors[j], j != k, with keys[j] == keys[k]. Both are vectors.
ValueId ProductsOfOthers(Emitter& emit, ValueId factors, ValueId keys);

}  // namespace tartan::autodiff
