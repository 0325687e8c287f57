// SPDX-License-Identifier: Apache-2.0
// How far a tensor is from what it would be without rounding.
#pragma once

#include <cstdint>
#include <string>

#include "frontend/cli/compare.h"
#include "tile/base/host_tensor.h"

namespace tartan::cli {

struct Accuracy {
  int64_t elements = 0;
  double max_abs_error = 0;
  // In units in the last place: the error divided by the distance of neighbouring numbers of the
  // tensor's type at the exact value or, where that is nearer to 0 than the tensor's scale (the
  // root of its mean square), at the scale. 1 for each unit of an integer.
  double max_ulps = 0;
  double rms_error = 0;  // root of the mean square error, relative to the scale
  int64_t beyond = 0;    // elements that do not fit the tolerance
};

// `exact` has the sizes of `actual`, and float64 for floats. Errors are infinite where only one
// side is finite, once `exact` is rounded to the type of `actual`; scale and mean leave them out.
Accuracy MeasureAccuracy(const HostTensor& actual, const HostTensor& exact, Tolerance tolerance);

// "0.52 ulp, RMS 1.2e-07, 3 of 8192 beyond the tolerance"
std::string ToString(const Accuracy& accuracy);

// The tolerance for outputs of this type: 16-bit floats are allowed four units in the last place,
// and near 0 one of `scale`, since figures are published that were rounded on the way. Others get
// `usual`, and so does what `usual` already allows more.
Tolerance ToleranceFor(DataType type, double scale, Tolerance usual);

// The root of the mean square of the finite elements.
double ScaleOf(const HostTensor& tensor);

}  // namespace tartan::cli
