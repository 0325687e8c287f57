// SPDX-License-Identifier: Apache-2.0
// Measures the rounding errors of a tensor against an exact reference.
#pragma once

#include <cstdint>
#include <string>

#include "frontend/cli/compare.h"
#include "tile/base/host_tensor.h"

namespace tartan::cli {

struct Accuracy {
  int64_t elements = 0;
  double max_abs_error = 0;
  // Maximum error in ulps (units in the last place): the error divided by the distance of adjacent
  // values of the tensor's type at the exact value. If the exact value is smaller than the tensor's
  // scale (its root mean square), the distance at the scale is used. For integers, 1 ulp is 1.
  double max_ulps = 0;
  double rms_error = 0;  // root mean square error, relative to the scale
  int64_t beyond = 0;    // number of elements that exceed the tolerance
};

// `exact` has the shape of `actual`, and type float64 for floats. The error is infinite if only one
// side is finite after rounding `exact` to the type of `actual`. Scale and mean ignore such
// elements.
Accuracy MeasureAccuracy(const HostTensor& actual, const HostTensor& exact, Tolerance tolerance);

// "0.52 ulp, RMS 1.2e-07, 3 of 8192 beyond the tolerance"
std::string ToString(const Accuracy& accuracy);

// The tolerance for outputs of this type. 16-bit floats are allowed four ulps, and near 0 one ulp
// at `scale`, because published figures have intermediate rounding. Other types, and cases where
// `usual` allows more, get `usual`.
Tolerance ToleranceFor(DataType type, double scale, Tolerance usual);

// The root mean square of the finite elements.
double ScaleOf(const HostTensor& tensor);

}  // namespace tartan::cli
