// SPDX-License-Identifier: Apache-2.0
// Whether two engines agree.
#pragma once

#include "tile/base/host_tensor.h"

namespace tartan::bench {

// Beyond this, results differ by more than other orders of summation or a Winograd transform
// explain.
inline constexpr double kTolerance = 1e-3;

// The greatest difference of two elements, divided by the greatest magnitude in `expected`;
// infinity for different element counts and where one is NaN and the other is not.
double MaxError(const HostTensor& actual, const HostTensor& expected);

}  // namespace tartan::bench
