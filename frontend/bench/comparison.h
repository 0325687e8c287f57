// SPDX-License-Identifier: Apache-2.0
// Measures whether the results of two engines agree.
#pragma once

#include "tile/base/host_tensor.h"

namespace tartan::bench {

// Maximum relative error of a result. Larger errors cannot be explained by another order of
// summation or a Winograd transform; empirical.
inline constexpr double kTolerance = 1e-3;

// The maximum difference of two elements, divided by the maximum magnitude in `expected`. Infinity
// for different element counts, and if only one of two elements is NaN.
double MaxError(const HostTensor& actual, const HostTensor& expected);

}  // namespace tartan::bench
